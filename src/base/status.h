/* status.h: what a call that can fail returns, and the words that go with a failure.
 *
 * Results go through pointers and are untouched unless STATUS_OK is returned. Absence of a figure is no error. */
#ifndef PMTOP_BASE_STATUS_H
#define PMTOP_BASE_STATUS_H

enum status {
	STATUS_OK = 0,
	STATUS_END,       /* nothing more will come: end of file, target ended */
	STATUS_AGAIN,     /* nothing now; ask again later */
	STATUS_NOT_FOUND, /* no such process, file or run */
	STATUS_DENIED,    /* it exists, but may not be read by us */
	STATUS_NO_MEMORY,
	STATUS_IO,          /* the system refused for another reason */
	STATUS_DAMAGED,     /* foreign bytes that do not make sense */
	STATUS_UNSUPPORTED, /* understood, but of a version or kind not handled */
	STATUS_INVALID,     /* the caller's user asked for something impossible */
};

/* For a person: what and why, and what to do about it. Either may be empty. One line each, no full stop. */
struct reason {
	char text[224];
	char remedy[256];
};

/* Fills both; `remedy` may be NULL. Returns `status`, so that a failure is one statement. */
enum status reason_set(struct reason *reason, enum status status, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
