"""After pytorch/examples word_language_model: the training loop is a function that the epoch loop calls, parameters are updated by hand."""
import torch
from torch import nn
from truth import step

torch.set_num_threads(1)
rnn, decoder, embedding = nn.LSTM(64, 128), nn.Linear(128, 50), nn.Embedding(50, 64)
parameters = [*rnn.parameters(), *decoder.parameters(), *embedding.parameters()]
train_data, bptt, done = torch.randint(0, 50, (2000, 20)), 20, 0


def get_batch(source, i):
    length = min(bptt, len(source) - 1 - i)
    return source[i:i + length], source[i + 1:i + 1 + length].view(-1)


def evaluate(source):
    with torch.no_grad():
        for i in range(0, 400, bptt):
            decoder(rnn(embedding(get_batch(source, i)[0]))[0])


def train():
    global done
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        x, y = get_batch(train_data, i)
        for parameter in parameters:
            parameter.grad = None
        loss = nn.functional.cross_entropy(decoder(rnn(embedding(x))[0]).view(-1, 50), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 0.25)
        for parameter in parameters:
            parameter.data.add_(parameter.grad, alpha=-0.1)
        done += 1
        step(done, epoch, loss)


for epoch in range(1, 401):
    train()
    evaluate(train_data)
