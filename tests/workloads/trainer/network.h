/* network.h: a small fully connected network: two hidden layers, ReLU, softmax with cross-entropy, stochastic gradient
 * descent with momentum. */
#ifndef TRAINER_NETWORK_H
#define TRAINER_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NETWORK_LAYERS = 3 };

struct layer {
	unsigned inputs, outputs;
	size_t count; /* of parameters: for each output its weights, then its bias */
	float *parameters, *gradient, *velocity;
	float *output, *delta; /* batch × outputs */
};

struct network {
	unsigned batch; /* the most samples a call may pass */
	struct layer layers[NETWORK_LAYERS];
};

bool network_init(struct network *network, const unsigned sizes[NETWORK_LAYERS + 1], unsigned batch, uint64_t seed);
void network_release(struct network *network);

void network_forward(struct network *network, const float *inputs, unsigned samples);
/* Mean loss of the last forward; prepares backward. *correct: how many samples were classified right. */
double network_loss(struct network *network, const uint8_t *labels, unsigned samples, unsigned *correct);
/* Gradients are set, not added to, so doing it twice changes nothing. */
void network_backward(struct network *network, const float *inputs, unsigned samples);
double network_gradient_norm(const struct network *network);
void network_update(struct network *network, float rate, float momentum);
bool network_write(const struct network *network, FILE *file);

#endif
