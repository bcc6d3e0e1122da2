/* accomplice.h: processes that are none of the run's, and do to it what others on the machine do: take its CPU, stop
 * it.
 *
 * They are no children of the trainer (nor of its tree), and end with it. */
#ifndef TRAINER_ACCOMPLICE_H
#define TRAINER_ACCOMPLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HOGS = 3 };

struct accomplice {
	int stop_fd, hog_fd; /* −1 = not there */
	int *is_hogging;     /* shared */
};

/* Before any region is opened. False: errno says why. */
bool accomplice_start(struct accomplice *accomplice);
/* The folder is removed when the trainer is gone, however it went. */
void accomplice_will_remove(const struct accomplice *accomplice, const char *folder);
/* Returns at once; the process is stopped a moment later, for so long. */
void accomplice_stop(const struct accomplice *accomplice, pid_t pid, int64_t duration_ns);
/* HOGS processes want the CPU that the trainer was on when they were started, from now on, or no longer. */
void accomplice_hog(const struct accomplice *accomplice, bool is_on);
void accomplice_end(struct accomplice *accomplice);

#endif
