/* vt.h: a program on a pseudo-terminal of the test, with libvterm to read its screen. */
#ifndef PMTOP_TESTS_SUPPORT_VT_H
#define PMTOP_TESTS_SUPPORT_VT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "src/base/buffer.h"

struct vt;

struct vt_cell {
	uint32_t code; /* 0 = blank, or the right half of a wide character */
	int width;
	int foreground, background; /* index of the palette, −1 = the terminal's own */
	bool is_bold, is_reversed, is_underlined;
};

/* Starts `argv[0]` (looked up in PATH) on a terminal of its own. `environment` holds "NAME=VALUE" (set) and "NAME"
 * (unset), ended by NULL; may be NULL. */
struct vt *vt_start(int width, int height, char *const argv[], const char *const environment[]);
/* The same with a function of this program; the child exits with what it returns. */
struct vt *vt_fork(int width, int height, int (*child)(void *context), void *context, const char *const environment[]);
/* Kills the program if it still runs. */
void vt_free(struct vt *vt);

/* reads the program's output meanwhile, at most 10 s */
void vt_send(struct vt *vt, const char *bytes, size_t length);
/* To a program that has stopped: returns when all of it waits to be read. */
void vt_send_waiting(struct vt *vt, const char *bytes, size_t length);
void vt_press(struct vt *vt, const char *text);
void vt_resize(struct vt *vt, int width, int height);
/* SIGSTOP: returns when it has stopped. */
void vt_signal(struct vt *vt, int number);
/* Resumes or stops reading the master; while stopped, the program's output fills the pty. */
void vt_set_reading(struct vt *vt, bool is_reading);
/* Closes the master: the terminal is gone. */
void vt_hang_up(struct vt *vt);

/* Reads output for so long. */
void vt_pump(struct vt *vt, int ms);
/* Waits until a row of the screen has the text; false at the deadline. */
bool vt_wait_text(struct vt *vt, const char *text, int deadline_ms);
/* Waits until condition(vt, context) is true; false at the deadline. */
bool vt_wait(struct vt *vt, bool (*condition)(struct vt *vt, void *context), void *context, int deadline_ms);
/* Waits until no output came for `quiet_ms`; false at the deadline. */
bool vt_settle(struct vt *vt, int quiet_ms, int deadline_ms);
/* Waits until the program ended; *status is that of waitpid. */
bool vt_wait_exit(struct vt *vt, int *status, int deadline_ms);

void vt_row(struct vt *vt, int y, struct buffer *out); /* without trailing blanks */
void vt_screen(struct vt *vt, struct buffer *out);     /* all rows, each with a newline */
struct vt_cell vt_cell(struct vt *vt, int x, int y);
uint64_t vt_reads(const struct vt *vt); /* reads of the master that returned bytes */
uint64_t vt_bytes(const struct vt *vt);
bool vt_saw(const struct vt *vt, const char *bytes); /* among the last 64 kB that came */
struct termios vt_modes(const struct vt *vt);
pid_t vt_pid(const struct vt *vt);

#endif
