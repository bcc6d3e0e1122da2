/* memory_snapshot.h: the page of the view Memory with the newest memory snapshot: lines in use, their growth since the
 * snapshot before, and what was live at the peak. */
#ifndef PMTOP_UI_VIEWS_MEMORY_SNAPSHOT_H
#define PMTOP_UI_VIEWS_MEMORY_SNAPSHOT_H

#include "ui/widgets/view.h"

/* Whether the page is open. */
bool memory_snapshot_is_open(const struct scene *scene);
void memory_snapshot_draw(struct scene *scene, struct canvas *canvas, struct rect rect);
/* While it is open. */
bool memory_snapshot_key(struct scene *scene, struct key_event event);
/* "snapshot 14:02:11: key T", where there is one. */
void memory_snapshot_hint(const struct scene *scene, struct line *line, int rank);
void memory_snapshot_write(const struct scene *scene, struct buffer *out);

#endif
