#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"

static float *zeroed(size_t count) { return calloc(count, sizeof(float)); }

static bool layer_init(struct layer *layer, unsigned inputs, unsigned outputs, unsigned batch, uint64_t *noise)
{
	float scale = sqrtf(6.0f / (float)inputs); /* He et al. (2015), for ReLU */

	layer->inputs = inputs;
	layer->outputs = outputs;
	layer->count = (size_t)(inputs + 1) * outputs;
	layer->parameters = zeroed(layer->count);
	layer->gradient = zeroed(layer->count);
	layer->velocity = zeroed(layer->count);
	layer->output = zeroed((size_t)batch * outputs);
	layer->delta = zeroed((size_t)batch * outputs);
	if (!layer->parameters || !layer->gradient || !layer->velocity || !layer->output || !layer->delta)
		return false;
	for (size_t i = 0; i < layer->count; i++)
		if ((i + 1) % (inputs + 1) != 0)
			layer->parameters[i] = scale * noise_signed(noise);
	return true;
}

bool network_init(struct network *network, const unsigned sizes[NETWORK_LAYERS + 1], unsigned batch, uint64_t seed)
{
	*network = (struct network){ .batch = batch };
	for (unsigned i = 0; i < NETWORK_LAYERS; i++)
		if (!layer_init(&network->layers[i], sizes[i], sizes[i + 1], batch, &seed))
			return false;
	return true;
}

void network_release(struct network *network)
{
	for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
		struct layer *layer = &network->layers[i];

		free(layer->parameters);
		free(layer->gradient);
		free(layer->velocity);
		free(layer->output);
		free(layer->delta);
	}
}

static void layer_forward(struct layer *layer, const float *inputs, unsigned samples, bool rectify)
{
	for (unsigned n = 0; n < samples; n++) {
		const float *input = inputs + (size_t)n * layer->inputs;
		const float *weight = layer->parameters;

		for (unsigned o = 0; o < layer->outputs; o++, weight += layer->inputs + 1) {
			float sum = weight[layer->inputs];

			for (unsigned i = 0; i < layer->inputs; i++)
				sum += weight[i] * input[i];
			layer->output[n * layer->outputs + o] = rectify && sum < 0 ? 0 : sum;
		}
	}
}

void network_forward(struct network *network, const float *inputs, unsigned samples)
{
	for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
		layer_forward(&network->layers[i], inputs, samples, i + 1 < NETWORK_LAYERS);
		inputs = network->layers[i].output;
	}
}

static unsigned largest(const float *values, unsigned count)
{
	unsigned best = 0;

	for (unsigned i = 1; i < count; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

double network_loss(struct network *network, const uint8_t *labels, unsigned samples, unsigned *correct)
{
	struct layer *last = &network->layers[NETWORK_LAYERS - 1];
	double loss = 0;

	*correct = 0;
	for (unsigned n = 0; n < samples; n++) {
		const float *score = last->output + (size_t)n * last->outputs;
		float *delta = last->delta + (size_t)n * last->outputs;
		unsigned best = largest(score, last->outputs);
		float sum = 0;

		for (unsigned o = 0; o < last->outputs; o++)
			sum += delta[o] = expf(score[o] - score[best]);
		loss += logf(sum) - (score[labels[n]] - score[best]);
		for (unsigned o = 0; o < last->outputs; o++)
			delta[o] = (delta[o] / sum - (o == labels[n])) / (float)samples;
		*correct += best == labels[n];
	}
	return loss / samples;
}

static void layer_gradient(struct layer *layer, const float *inputs, unsigned samples)
{
	memset(layer->gradient, 0, layer->count * sizeof *layer->gradient);
	for (unsigned n = 0; n < samples; n++) {
		const float *input = inputs + (size_t)n * layer->inputs;
		float *gradient = layer->gradient;

		for (unsigned o = 0; o < layer->outputs; o++, gradient += layer->inputs + 1) {
			float delta = layer->delta[n * layer->outputs + o];

			for (unsigned i = 0; i < layer->inputs; i++)
				gradient[i] += delta * input[i];
			gradient[layer->inputs] += delta;
		}
	}
}

/* The delta of the layer below, whose output was rectified. */
static void layer_propagate(const struct layer *layer, struct layer *below, unsigned samples)
{
	memset(below->delta, 0, (size_t)samples * below->outputs * sizeof *below->delta);
	for (unsigned n = 0; n < samples; n++) {
		const float *weight = layer->parameters;
		float *delta = below->delta + (size_t)n * below->outputs;

		for (unsigned o = 0; o < layer->outputs; o++, weight += layer->inputs + 1)
			for (unsigned i = 0; i < layer->inputs; i++)
				delta[i] += weight[i] * layer->delta[n * layer->outputs + o];
		for (unsigned i = 0; i < below->outputs; i++)
			if (below->output[n * below->outputs + i] <= 0)
				delta[i] = 0;
	}
}

void network_backward(struct network *network, const float *inputs, unsigned samples)
{
	for (unsigned i = NETWORK_LAYERS - 1; i > 0; i--) {
		layer_gradient(&network->layers[i], network->layers[i - 1].output, samples);
		layer_propagate(&network->layers[i], &network->layers[i - 1], samples);
	}
	layer_gradient(&network->layers[0], inputs, samples);
}

double network_gradient_norm(const struct network *network)
{
	double sum = 0;

	for (unsigned i = 0; i < NETWORK_LAYERS; i++)
		for (size_t k = 0; k < network->layers[i].count; k++)
			sum += (double)network->layers[i].gradient[k] * (double)network->layers[i].gradient[k];
	return sqrt(sum);
}

void network_update(struct network *network, float rate, float momentum)
{
	for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
		struct layer *layer = &network->layers[i];

		for (size_t k = 0; k < layer->count; k++) {
			layer->velocity[k] = momentum * layer->velocity[k] - rate * layer->gradient[k];
			layer->parameters[k] += layer->velocity[k];
		}
	}
}

bool network_write(const struct network *network, FILE *file)
{
	for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
		const struct layer *layer = &network->layers[i];

		if (fwrite(layer->parameters, sizeof(float), layer->count, file) != layer->count ||
			fwrite(layer->velocity, sizeof(float), layer->count, file) != layer->count)
			return false;
	}
	return true;
}
