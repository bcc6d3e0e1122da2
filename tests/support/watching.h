/* watching.h: the real pmtop on a pseudo-terminal, watching the real trainer. One trainer at a time. */
#ifndef PMTOP_TESTS_SUPPORT_WATCHING_H
#define PMTOP_TESTS_SUPPORT_WATCHING_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/vt.h"

enum { SOON_MS = 15000 };

extern pid_t trainer_pid;
extern char watching_pmtop[PATH_MAX], watching_home[64], trainer_pid_text[16];

/* Finds the programs and makes an empty home; false on failure. */
bool watching_open(void);
bool watching_close(void);
void start_trainer(const char *const options[]);
void stop_trainer(void);
bool is_training(void);

#define TRAIN(...) start_trainer((const char *const[]){ __VA_ARGS__, NULL })
#define ENDLESS "--epochs", "1000", "--batches", "50", "--step-ms", "4"

/* pmtop -p of the trainer, ten times a second, with `more` arguments (NULL: none) and more environment (NULL: none). */
struct vt *watch_with(int width, int height, const char *const more[], const char *const environment[]);
struct vt *watch(int width, int height);
/* Presses `q` and waits for the end; the exit status. */
int quit(struct vt *vt);

#define ASSERT_SHOWS(vt, text) assert_shows(vt, text, __LINE__)
void assert_shows(struct vt *vt, const char *text, int line);

#endif
