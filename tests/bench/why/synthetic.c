/* synthetic: a synthetic run as fast as it can be computed, through the model and the rules: what `pmtop -b
 * --format=json` would have printed.
 *
 *   synthetic SCENARIO:SEED SECONDS TRUTH [newest]
 *
 * One object for each second of the run, on standard output; what was planted, as the trainer writes it, in the file
 * TRUTH. newest: without --all, so that an object stays small. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/sources/synthetic/synthetic.h"

enum { READINGS_A_SECOND = 5 };
#define START_NS (INT64_C(100000) * NS_PER_S)

static bool write_truth(const char *path, const struct synthetic *synthetic, double seconds)
{
	struct synthetic_truth truth = synthetic_truth(synthetic);
	FILE *file = fopen(path, "w");
	if (!file)
		return false;
	fprintf(file,
		"{\"pid\":%d,\"ended\":\"synthetic\",\"batches\":%llu,\"batches_per_epoch\":%u,\"total_s\":%g,\"median_s\":0.1,"
		"\"faults\":[{\"name\":\"synthetic\",\"from\":150,\"kept_bytes\":%.0f",
		SYNTHETIC_PID, (unsigned long long)truth.batches, synthetic_epoch_batches(), seconds, truth.retained_bytes);
	static const char *const columns[] = { "batches", "took_s", "batch_s" };
	for (size_t column = 0; column < sizeof columns / sizeof *columns; column++) {
		fprintf(file, ",\"%s\":[", columns[column]);
		for (uint64_t i = 0; i < truth.planted_count; i++)
			fprintf(file, column ? "%s1" : "%s%llu", i ? "," : "", (unsigned long long)truth.planted[i]);
		fputs("]", file);
	}
	fputs("}]}\n", file);
	return fclose(file) == 0;
}

int main(int argc, char **argv)
{
	struct reason reason = { 0 };
	struct synthetic *synthetic = NULL;
	struct model_options options;
	struct settings settings;
	struct alerts alerts = { 0 };
	struct sample_set set = SAMPLE_SET_INIT;
	struct buffer out = BUFFER_INIT;
	double seconds = argc >= 4 ? strtod(argv[2], NULL) : 0;
	void (*export)(struct buffer *, const struct model *, const struct alerts *, int, int64_t) =
		argc > 4 ? export_json_newest : export_json;
	if (seconds <= 0) {
		fputs("usage: synthetic SCENARIO:SEED SECONDS TRUTH [newest]\n", stderr);
		return 2;
	}
	settings_default(&settings);
	model_options_default(&options);
	struct model *model = model_new(&options);
	if (!model || synthetic_new(argv[1], START_NS, &synthetic, &reason) != STATUS_OK) {
		fprintf(stderr, "synthetic: %s\n", reason.text);
		return 2;
	}
	for (int reading = 0; reading <= (int)(seconds * READINGS_A_SECOND); reading++) {
		set.time_ns = START_NS + reading * NS_PER_S / READINGS_A_SECOND;
		set.source = "synthetic";
		synthetic_emit(synthetic, set.time_ns, &set);
		model_apply(model, &set);
		explain_flagged(model);
		sample_set_clear(&set);
		alerts_update(&alerts, model, &settings);
		if (reading % READINGS_A_SECOND)
			continue;
		export(&out, model, &alerts, 0, set.time_ns);
		fwrite(out.data, 1, out.length, stdout);
		out.length = 0;
	}
	bool good = write_truth(argv[3], synthetic, seconds);
	buffer_release(&out);
	sample_set_release(&set);
	alerts_release(&alerts);
	model_free(model);
	synthetic_free(synthetic);
	return good && fflush(stdout) == 0 ? 0 : 1;
}
