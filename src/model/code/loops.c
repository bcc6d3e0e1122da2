#include "src/model/code/loops.h"

#include "src/model/model.h"
#include "src/model/names.h"
#include "src/samples/sample_set.h"

void model_take_loops(struct model *model, const struct record *record)
{
	struct loops *loops = &model->loops;
	loops->pid = record->loops.pid;
	loops->is_chosen = record->loops.is_chosen;
	loops->count = record->loops.rows ? record->loops.count : 0;
	loops->count = loops->count < LOOPS_MAX ? loops->count : LOOPS_MAX;
	for (size_t i = 0; i < loops->count; i++) {
		const struct loop_row *row = &record->loops.rows[i];
		struct loop *loop = &loops->list[i];
		*loop = (struct loop){ .line = row->line,
			.per_s = row->per_s,
			.position = row->position,
			.length = row->length,
			.is_counted = row->is_counted };
		put_text(loop->text, sizeof loop->text, row->text);
		put_text(loop->file, sizeof loop->file, row->file);
	}
}
