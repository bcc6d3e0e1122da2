#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool truth_init(struct truth *truth, const struct options *options)
{
	*truth = (struct truth){ .first_loss = NAN, .final_loss = NAN, .accuracy = NAN };
	truth->capacity = (size_t)options->epochs * (size_t)options->batches;
	truth->seconds = calloc(truth->capacity, sizeof *truth->seconds);
	return truth->seconds;
}

void truth_release(struct truth *truth) { free(truth->seconds); }

void truth_batch(struct truth *truth, double seconds, double loss)
{
	if (truth->count == 0)
		truth->first_loss = loss;
	if (truth->count < truth->capacity)
		truth->seconds[truth->count++] = seconds;
	truth->final_loss = loss;
}

static void put(FILE *file, const char *key, double value)
{
	if (!isnan(value))
		fprintf(file, ",\"%s\":%.9g", key, value);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(const double *seconds, size_t count)
{
	double *sorted = malloc(count * sizeof *sorted), middle;

	if (!sorted)
		return NAN;
	memcpy(sorted, seconds, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	middle = sorted[count / 2];
	free(sorted);
	return middle;
}

static void put_times(FILE *file, const struct truth *truth)
{
	double total = 0, least = NAN, most = NAN;

	for (size_t i = 0; i < truth->count; i++) {
		total += truth->seconds[i];
		least = fmin(least, truth->seconds[i]);
		most = fmax(most, truth->seconds[i]);
	}
	put(file, "total_s", total);
	if (truth->count)
		put(file, "mean_s", total / (double)truth->count);
	put(file, "min_s", least);
	put(file, "max_s", most);
	if (truth->count)
		put(file, "median_s", median(truth->seconds, truth->count));
}

/* Of each batch, in order. */
static void put_seconds(FILE *file, const struct truth *truth)
{
	fputs(",\"seconds\":[", file);
	for (size_t i = 0; i < truth->count; i++)
		fprintf(file, "%s%.6f", i ? "," : "", truth->seconds[i]);
	fputs("]", file);
}

bool truth_write(
	const struct truth *truth, const struct options *options, const struct loader_plan *plan, const char *ended)
{
	const char *separator = "";
	FILE *file;

	if (!options->truth)
		return true;
	file = fopen(options->truth, "w");
	if (!file) {
		perror(options->truth);
		return false;
	}
	fprintf(file,
		"{\"pid\":%ld,\"ended\":\"%s\",\"epochs\":%llu,\"batches\":%zu,\"batches_per_epoch\":%.0f,\"batch_size\":%.0f,"
		"\"validation_batches\":%llu",
		(long)getpid(), ended, (unsigned long long)truth->epochs, truth->count, options->batches, options->batch_size,
		(unsigned long long)truth->validation_batches);
	put_times(file, truth);
	put_seconds(file, truth);
	put(file, "first_loss", truth->first_loss);
	put(file, "final_loss", truth->final_loss);
	put(file, "accuracy", truth->accuracy);
	fprintf(file, ",\"leaked_bytes\":%llu,\"planted\":[", (unsigned long long)truth->leaked_bytes);
	for (uint64_t batch = 0; batch < truth->count; batch++) {
		if (!loader_is_planted(plan, batch))
			continue;
		fprintf(file, "%s%llu", separator, (unsigned long long)batch);
		separator = ",";
	}
	fputs("]", file);
	faults_write(&options->faults, file, truth->seconds, truth->count);
	fputs("}\n", file);
	return fclose(file) == 0;
}
