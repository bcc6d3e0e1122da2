/* player.h: sample sets from a recording or a pipe. One player is of one thread.
 *
 * A file is played at a multiple of the pace that it was recorded at, or (speed 0) as fast as it can be read; a pipe
 * gives its sets as they come. A file that is still being written is followed; where its recorder went on in others
 * (run.1.pmtop, …), so does it. What was lost on the way is told to the model as events that were lost. */
#ifndef PMTOP_PLAYBACK_PLAYER_H
#define PMTOP_PLAYBACK_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

struct player;

/* `path` "-": standard input. The header has been read when it returns. `speed` 0: as fast as possible. */
enum status player_open(const char *path, double speed, struct player **out, struct reason *why_not);
void player_close(struct player *player);
/* The same file from its beginning, as fast as it can be read, as a player of its own, which another thread may have.
 * NULL: out of memory or files, or a pipe, which is gone through once. */
struct player *player_again(const struct player *player);
/* Clears *set and fills it with the next one, if it is due. False: not yet, or nothing more comes. */
bool player_take(struct player *player, struct sample_set *set);
/* Waits until the next may be due, at most `timeout_ms` (−1 = for ever): for a poll of one's own, how long, and on what
 * (−1 = nothing). */
int player_wait_ms(const struct player *player);
int player_fd(const struct player *player);
/* The time of the set that player_take gives next (when it is due); false: none can be read now. */
bool player_next_ns(struct player *player, int64_t *time_ns);
/* Whether blocks before that set are lost. */
bool player_lost_before_next(const struct player *player);
bool player_has_ended(const struct player *player);
/* Whether its recorder still writes it. */
bool player_is_growing(const struct player *player);
/* From the time of the first set to that of the newest that is whole in the file, which is found at its end. False:
 * there is none, or it is a pipe. */
bool player_span(const struct player *player, int64_t *begin_ns, int64_t *end_ns);
bool player_is_pipe(const struct player *player);
const struct stream_header *player_header(const struct player *player);
const struct stream_losses *player_losses(const struct player *player);

#endif
