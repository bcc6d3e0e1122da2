/* status.h: what a call that can fail returns, and the error message of a failure.
 *
 * Results go through pointers, which are written only when STATUS_OK is returned. An unknown figure is not an error. */
#ifndef PMTOP_BASE_STATUS_H
#define PMTOP_BASE_STATUS_H

enum status {
	STATUS_OK = 0,
	STATUS_END,       /* end of file, or the target ended */
	STATUS_AGAIN,     /* nothing yet; call again later */
	STATUS_NOT_FOUND, /* no such process, file or run */
	STATUS_DENIED,    /* it exists, but pmtop may not read it */
	STATUS_NO_MEMORY,
	STATUS_IO,          /* the system refused for another reason */
	STATUS_DAMAGED,     /* malformed data */
	STATUS_UNSUPPORTED, /* well-formed, but of a version or kind that pmtop does not support */
	STATUS_INVALID,     /* the user asked for something impossible */
};

/* For a person: what failed and why, and what to do about it. Either may be empty. One line each, no full stop. */
struct reason {
	char text[224];
	char remedy[256];
};

/* Fills both; `remedy` may be NULL. Returns `status`, so that callers can report and return in one statement. */
enum status reason_set(struct reason *reason, enum status status, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
