#include "src/export/wide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/cells.h"

enum { DRAIN_BYTES = 256 * 1024 };

struct wide {
	FILE *rows;                   /* struct row_head, then its text */
	unsigned count, room, newest; /* newest: the last one returned; callers often ask for the next one */
	struct {
		char *name;
		struct buffer cell;
	} * columns;
	struct buffer row, spare; /* spare: receives the cells of columns beyond the maximum */
	bool has_failed;
};

struct row_head {
	unsigned cells;
	size_t length;
};

struct wide *wide_new(void)
{
	struct wide *wide = calloc(1, sizeof *wide);
	if (wide)
		wide->rows = tmpfile();
	if (wide && wide->rows)
		return wide;
	wide_free(wide);
	return NULL;
}

void wide_free(struct wide *wide)
{
	if (!wide)
		return;
	for (unsigned i = 0; i < wide->count; i++) {
		free(wide->columns[i].name);
		buffer_release(&wide->columns[i].cell);
	}
	free(wide->columns);
	buffer_release(&wide->row);
	buffer_release(&wide->spare);
	if (wide->rows)
		fclose(wide->rows);
	free(wide);
}

static bool make_room(struct wide *wide)
{
	if (wide->count < wide->room)
		return true;
	unsigned room = wide->room ? wide->room * 2 : 64;
	void *columns = room <= WIDE_COLUMNS_MAX ? realloc(wide->columns, room * sizeof *wide->columns) : NULL;
	if (!columns)
		return false;
	wide->columns = columns;
	wide->room = room;
	return true;
}

unsigned wide_column(struct wide *wide, const char *name)
{
	for (unsigned k = 0; k < wide->count; k++) {
		unsigned i = (wide->newest + 1 + k) % wide->count;
		if (strcmp(wide->columns[i].name, name) == 0)
			return wide->newest = i;
	}
	char *own = make_room(wide) ? strdup(name) : NULL;
	if (!own)
		return WIDE_COLUMNS_MAX;
	wide->columns[wide->count].name = own;
	wide->columns[wide->count].cell = (struct buffer)BUFFER_INIT;
	return wide->count++;
}

struct buffer *wide_cell(struct wide *wide, unsigned column)
{
	struct buffer *cell = column < wide->count ? &wide->columns[column].cell : &wide->spare;
	buffer_clear(cell);
	return cell;
}

void wide_end_row(struct wide *wide)
{
	buffer_clear(&wide->row);
	for (unsigned i = 0; i < wide->count; i++) {
		struct buffer *cell = &wide->columns[i].cell;
		if (i)
			buffer_puts(&wide->row, ",");
		buffer_add(&wide->row, cell->data ? cell->data : "", cell->length);
		wide->has_failed |= cell->failed;
		buffer_clear(cell);
	}
	struct row_head head = { wide->count, wide->row.length };
	wide->has_failed |= wide->row.failed || fwrite(&head, sizeof head, 1, wide->rows) != 1 ||
		(head.length && fwrite(wide->row.data, head.length, 1, wide->rows) != 1);
}

/* Rows that are older than a column lack its cell: add commas. */
static bool copy_row(struct wide *wide, struct buffer *out)
{
	struct row_head head;
	char piece[4096];
	if (fread(&head, sizeof head, 1, wide->rows) != 1)
		return false;
	for (size_t left = head.length; left;) {
		size_t length = left < sizeof piece ? left : sizeof piece;
		if (fread(piece, length, 1, wide->rows) != 1) {
			wide->has_failed = true;
			return false;
		}
		buffer_add(out, piece, length);
		left -= length;
	}
	for (unsigned i = head.cells; i < wide->count; i++)
		buffer_puts(out, ",");
	buffer_puts(out, "\n");
	return true;
}

void wide_write(struct wide *wide, const struct export_scene *scene)
{
	struct buffer *out = scene->out;
	for (unsigned i = 0; i < wide->count; i++) {
		if (i)
			buffer_puts(out, ",");
		cell_text(out, wide->columns[i].name);
	}
	buffer_puts(out, "\n");
	wide->has_failed |= fflush(wide->rows) != 0 || fseek(wide->rows, 0, SEEK_SET) != 0;
	while (!wide->has_failed && copy_row(wide, out))
		if (out->length >= DRAIN_BYTES)
			scene->drain(scene);
	/* An incomplete table must not look complete. */
	out->failed |= wide->has_failed;
}
