"""TensorFlow's quickstart for experts: a loop of one's own over a tf.data.Dataset around a tf.function, and another one that validates."""
import numpy
import tensorflow as tf
from truth import step

SAMPLES, SIZE, EPOCHS = 3600, 32, 400
done = 0
x = numpy.random.rand(SAMPLES, 28, 28, 1).astype('float32')
y = numpy.random.randint(0, 10, SAMPLES)
train_ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).batch(SIZE)
test_ds = tf.data.Dataset.from_tensor_slices((x[:320], y[:320])).batch(SIZE)
model = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3, activation='relu'), tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, activation='relu'),
                             tf.keras.layers.Dense(10)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_object(labels, model(images, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def test_step(images, labels):
    return loss_object(labels, model(images, training=False))


def note(epoch, loss):
    global done
    done += 1
    step(done, epoch + 1, loss.numpy())


def train():
    for epoch in range(EPOCHS):
        for images, labels in train_ds:
            loss = train_step(images, labels)
            note(epoch, loss)
        for images, labels in test_ds:
            test_step(images, labels)


train()
