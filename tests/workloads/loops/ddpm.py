"""After diffusers' train_unconditional.py: epochs around enumerate() of the loader, accelerator.accumulate(), a progress bar that is updated by hand."""
import torch
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel
from small import images
from tqdm.auto import tqdm
from truth import step as note


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=1)
    model = UNet2DModel(sample_size=28, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
                        down_block_types=('DownBlock2D', 'DownBlock2D'), up_block_types=('UpBlock2D', 'UpBlock2D'))
    noise_scheduler = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, train_dataloader = accelerator.prepare(model, optimizer, images(100, 4))
    global_step, num_epochs, num_update_steps_per_epoch = 0, 100, 100
    for epoch in range(0, num_epochs):
        model.train()
        progress_bar = tqdm(total=num_update_steps_per_epoch, mininterval=5)
        progress_bar.set_description(f'Epoch {epoch}')
        for step, batch in enumerate(train_dataloader):
            clean = batch[0]
            noise, timesteps = torch.randn_like(clean), torch.randint(0, 100, (len(clean),)).long()
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(noise_scheduler.add_noise(clean, noise, timesteps), timesteps).sample, noise)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                progress_bar.update(1)
                global_step += 1
            note(global_step, epoch + 1, loss)
        progress_bar.close()
        accelerator.wait_for_everyone()


main()
