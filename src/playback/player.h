/* player.h: reads sample sets from a recording or a pipe. A player belongs to one thread.
 *
 * It plays a file at a multiple of its recorded speed, or (speed 0) as fast as possible; it returns the sets of a pipe
 * as they arrive. It follows a file that is still being written, and continues in the files of --rotate (run.1.pmtop,
 * …). Gaps in a recording reach the model as lost events. */
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
/* Opens the same file from its beginning, with speed 0, as another player, which another thread may use. NULL: out of
 * memory or files, or a pipe, which can be read only once. */
struct player *player_again(const struct player *player);
/* Clears *set and fills it with the next set if that is due. Returns false if it is not due, or there is none. */
bool player_take(struct player *player, struct sample_set *set);
/* For poll: how long to wait for the next set (−1 = no limit), and on which descriptor (−1 = none). */
int player_wait_ms(const struct player *player);
int player_fd(const struct player *player);
/* The time of the set that player_take returns next. Returns false if none can be read now. */
bool player_next_ns(struct player *player, int64_t *time_ns);
/* Whether blocks directly before that set are lost. */
bool player_lost_before_next(const struct player *player);
bool player_has_ended(const struct player *player);
/* Whether its recorder is still writing it. */
bool player_is_growing(const struct player *player);
/* The times of the first set and of the newest complete one, which is found at the end of the file. Returns false if
 * there is none, or for a pipe. */
bool player_span(const struct player *player, int64_t *begin_ns, int64_t *end_ns);
bool player_is_pipe(const struct player *player);
const struct stream_header *player_header(const struct player *player);
const struct stream_losses *player_losses(const struct player *player);
/* Why it ended before the file did; "" = it did not. */
const char *player_refusal(const struct player *player);

#endif
