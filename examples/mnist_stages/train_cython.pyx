# cython: language_level=3
"""The training loop of train_mnist.py, compiled, untouched but for its annotations."""

from mnist_trainer.variable import Variable


def train(model, optimizer, digits, epochs, batch, rng):
    """Train the model and print how it does after each epoch."""
    optimizer.setup(model)
    for epoch in range(1, epochs + 1):
        loss, accuracy = train_epoch(model, optimizer, digits, batch, rng)
        test_accuracy = test(model, digits, batch)
        print(
            f"epoch {epoch}: train loss {loss:.4f}, train accuracy {accuracy:.4f}, test accuracy {test_accuracy:.4f}",
            flush=True,
        )


def train_epoch(model, optimizer, digits, batch, rng):
    """Show the model every training image once, in a new order; return (loss, accuracy)."""
    count = len(digits.train_t)
    order = rng.permutation(count)
    loss = accuracy = 0.0
    for part in batches(count, batch):
        rows = order[part]
        x = Variable(digits.train_x[rows])
        labels = Variable(digits.train_t[rows])
        optimizer.update(model, x, labels)
        loss += float(model.loss.data) * len(rows)
        accuracy += float(model.accuracy.data) * len(rows)
    return loss / count, accuracy / count


def test(model, digits, batch):
    """Return the share of the test images that the model reads right."""
    count = len(digits.test_t)
    right = 0.0
    for part in batches(count, batch):
        x = Variable(digits.test_x[part], volatile=True)
        labels = Variable(digits.test_t[part], volatile=True)
        model(x, labels)
        right += float(model.accuracy.data) * len(labels.data)
    return right / count


def batches(count, size):
    """Yield slices that cover ``count`` rows, ``size`` at a time; the last may be shorter."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
