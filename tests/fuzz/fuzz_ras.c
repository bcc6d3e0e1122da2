/* An answer of NCCL's RAS service, through to the model. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/ras_words.h"
#include "src/model/model.h"
#include "src/sources/ras/ras_answer.h"
#include "src/sources/ras/ras_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static void take(const struct ras_answer *answer)
{
	struct sample_set set = SAMPLE_SET_INIT;
	struct model_options options;
	struct ras_judgement judgement;
	char words[COLLECTIVE_WORDS_SIZE];
	model_options_default(&options);
	struct model *model = model_new(&options);
	must(model != NULL);
	for (int64_t i = 1; i <= 2; i++) {
		sample_set_clear(&set);
		set.time_ns = i * INT64_C(40000000000);
		ras_answer_emit(answer, 1, set.time_ns, &set);
		model_apply(model, &set);
	}
	ras_judge(model, &judgement);
	ras_words(model, &judgement, words);
	must(memchr(words, '\0', sizeof words) != NULL && (judgement.finding == RAS_FINE || *words));
	model_free(model);
	sample_set_release(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of exactly its size, so that a byte too far is seen. */
	char *text = malloc(size ? size : 1);
	const struct ras_process process = { 9, 440 };
	struct ras_answer answer;
	struct ras_addresses addresses;
	struct reason why;
	char address[64] = "";
	must(text != NULL);
	memcpy(text, data, size);
	memcpy(address, data, size < sizeof address ? size : sizeof address - 1);
	if (ras_addresses_parse(address, &addresses))
		must(addresses.count > 0 && addresses.count <= RAS_ADDRESSES_MAX);
	if (ras_answer_read(text, size, &answer, &why) == STATUS_OK) {
		ras_answer_join(&answer, &process, 1);
		take(&answer);
		ras_answer_release(&answer);
	}
	free(text);
	return 0;
}
