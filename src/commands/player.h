/* player.h: sample sets from a recording or a pipe, each when it is due. Main thread only.
 *
 * A file is played at a multiple of the pace that it was recorded at, or as fast as it can be read; a pipe gives its sets as they come. A file
 * that is still being written is followed. What was lost on the way is told to the model as events that were lost. */
#ifndef PMTOP_COMMANDS_PLAYER_H
#define PMTOP_COMMANDS_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

struct player;

/* `path` "-": standard input. The header has been read when it returns. `speed` 0: as fast as possible. */
enum status player_open(const char *path, double speed, struct player **out, struct reason *why_not);
void player_close(struct player *player);
/* Clears *set and fills it with the next one, if it is due. False: not yet, or nothing more comes. */
bool player_take(struct player *player, struct sample_set *set);
/* Waits until the next may be due, at most `timeout_ms` (−1 = for ever): for a poll of one's own, how long, and on what (−1 = nothing). */
int player_wait_ms(const struct player *player);
int player_fd(const struct player *player);
bool player_has_ended(const struct player *player);
bool player_is_pipe(const struct player *player);
const struct stream_header *player_header(const struct player *player);
const struct stream_losses *player_losses(const struct player *player);

#endif
