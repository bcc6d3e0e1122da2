/* trace_page.h: what Enter opens: rows in sections, some of which lead on to another page. */
#ifndef PMTOP_UI_TRACE_TRACE_PAGE_H
#define PMTOP_UI_TRACE_TRACE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/text.h"
#include "src/trace/analysis/profile_shares.h"
#include "src/trace/analysis/profile_spread.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/widgets/view.h"

struct trace_scene;

enum { TRACE_CELLS = 4, TRACE_NAME_SIZE = 400, TRACE_TITLE_SIZE = 512 };

/* What Enter opens from a row: the page of an operator, or of a kernel or copy. `name`: with its kind. */
enum trace_link_kind { TRACE_LINK_NONE, TRACE_LINK_OP, TRACE_LINK_WORK };
struct trace_link {
	enum trace_link_kind kind;
	uint32_t name;
};

enum trace_row_kind { TRACE_ROW_TITLE, TRACE_ROW_TEXT, TRACE_ROW_ENTRY };
struct trace_row {
	enum trace_row_kind kind;
	enum role role;
	char name[TRACE_NAME_SIZE];
	char cells[TRACE_CELLS][NUMBER_SIZE]; /* of a title: headings; right-aligned */
	double bar;                           /* 0 … 1; NAN = none */
	struct trace_link link;
};

struct trace_page {
	char title[TRACE_TITLE_SIZE];
	struct trace_row *rows;
	int count, capacity;
	struct view_state state;
};

/* Headings: NULL = none. */
void trace_page_title(struct trace_page *page, const char *name, const char *const headings[TRACE_CELLS]);
void trace_page_text(struct trace_page *page, enum role role, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* In rows that fit the narrowest page. */
void trace_page_wrapped(struct trace_page *page, enum role role, const char *text);
/* "label   value": NULL as value is left out. */
void trace_page_figure(struct trace_page *page, const char *label, const char *value);
/* A row to select; NULL: no memory. */
struct trace_row *trace_page_entry(struct trace_page *page);
/* The distribution as a histogram, a row for each bin; nothing if it has no value. */
void trace_page_spread(struct trace_page *page, const char *title, const struct profile_spread *spread);
void trace_page_draw(struct trace_page *page, struct canvas *canvas, struct rect rect);
/* `link`: what Enter chose. False: not a key of pages. */
bool trace_page_key(
	struct trace_page *page, struct key_event event, struct trace_link *link, char *message, size_t message_size);
void trace_page_release(struct trace_page *page);

#endif
