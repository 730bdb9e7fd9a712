"""A small neural network library and the digits it learns to read.

The modules, from the bottom up:

* ``variable``: an array that remembers how it was computed, and back-propagation;
* ``function``: one step of a computation, with its derivative;
* ``functions``: the steps written in Python (linear, softmax cross entropy, accuracy);
* ``relu``: the step written in Cython;
* ``link``: things that own parameters;
* ``model``: the network for the digits;
* ``optimizer``: what happens in one training step;
* ``adam``: the rule that changes the parameters, written in Cython;
* ``data``, ``idx``, ``synthetic``: where the digits come from.
"""
