/* trace_pages.h: the pages of an operator, a kernel (or copy) and a gap. */
#ifndef PMTOP_UI_TRACE_TRACE_PAGES_H
#define PMTOP_UI_TRACE_TRACE_PAGES_H

#include "ui/trace/trace_scene.h"

/* `name`: with its kind. */
void trace_pages_op(struct trace_scene *scene, uint32_t name);
void trace_pages_work(struct trace_scene *scene, uint32_t name);
void trace_pages_gap(struct trace_scene *scene, uint32_t gap);
/* Opens what a row of a page leads to. */
void trace_pages_follow(struct trace_scene *scene, struct trace_link link);

#endif
