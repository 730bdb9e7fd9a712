# cython: language_level=3, boundscheck=False, wraparound=False
"""The training loop of train_mnist.py with C types for all that counts and sums. The work is done elsewhere: in numpy and
in the trainer's Python functions, which types here do not reach."""

cimport numpy as cnp

from mnist_trainer.variable import Variable

cnp.import_array()


def train(model, optimizer, digits, int epochs, int batch, rng):
    """Train the model and print how it does after each epoch."""
    cdef int epoch
    cdef double loss, accuracy, test_accuracy
    optimizer.setup(model)
    for epoch in range(1, epochs + 1):
        loss, accuracy = train_epoch(model, optimizer, digits, batch, rng)
        test_accuracy = test(model, digits, batch)
        print(
            f"epoch {epoch}: train loss {loss:.4f}, train accuracy {accuracy:.4f}, test accuracy {test_accuracy:.4f}",
            flush=True,
        )


cdef tuple train_epoch(model, optimizer, digits, Py_ssize_t batch, rng):
    """Show the model every training image once, in a new order; return (loss, accuracy)."""
    cdef cnp.ndarray images = digits.train_x, answers = digits.train_t, rows
    cdef Py_ssize_t start, count = answers.shape[0]
    cdef cnp.ndarray order = rng.permutation(count)
    cdef double loss = 0, accuracy = 0
    for start in range(0, count, batch):
        rows = order[start : min(start + batch, count)]
        x = Variable(images[rows])
        labels = Variable(answers[rows])
        optimizer.update(model, x, labels)
        loss += float(model.loss.data) * rows.shape[0]
        accuracy += float(model.accuracy.data) * rows.shape[0]
    return loss / count, accuracy / count


cdef double test(model, digits, Py_ssize_t batch) except -1:
    """Return the share of the test images that the model reads right."""
    cdef cnp.ndarray images = digits.test_x, answers = digits.test_t
    cdef Py_ssize_t start, stop, count = answers.shape[0]
    cdef double right = 0
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        x = Variable(images[start:stop], volatile=True)
        labels = Variable(answers[start:stop], volatile=True)
        model(x, labels)
        right += float(model.accuracy.data) * (stop - start)
    return right / count
