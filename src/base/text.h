/* text.h: UTF-8, widths in terminal cells, untrusted text made safe to print, and numbers in fixed widths.
 *
 * Nothing here depends on the locale: the program sets LC_CTYPE only, so numbers always have a decimal point. */
#ifndef PMTOP_BASE_TEXT_H
#define PMTOP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one code point from `text` (of `length` bytes, > 0) into *code; returns the bytes used, at least 1. A
 * malformed byte decodes to U+FFFD and uses one byte. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);
/* Encodes into `out` (at least 4 bytes); returns the bytes used. */
size_t utf8_encode(uint32_t code, char *out);
/* Terminal cells of a whole text. */
size_t text_cells(const char *text);

/* Copies untrusted text so that it is safe in a terminal, a log and a table: control characters become ^X, C1 controls,
 * bidirectional and other invisible format characters become <U+009B>, malformed bytes U+FFFD. Never cuts a code point.
 * `size` includes the NUL. Returns the length written. */
size_t text_clean(char *out, size_t size, const char *text, size_t length);
/* Shortens a text to `cells` columns: what is too much is cut out of its middle, with "…" in its place. Returns `out`.
 */
const char *text_shorten(char *out, size_t size, const char *text, size_t cells);
/* The bytes of the first `cells` columns of a text. */
size_t text_prefix(const char *text, size_t cells);
/* Quotes a word for a shell: unchanged where that is safe, else in single quotes. Returns `out`, which is empty if the
 * word does not fit. */
const char *text_shell_word(char *out, size_t size, const char *word);

/* A whole number of digits alone; -1: the text is something else. */
long text_count(const char *text);
bool text_ends_with(const char *text, const char *end);

/* Each writes into `out` and returns it. NAN gives "–" everywhere: unknown is never zero. */
enum { NUMBER_SIZE = 32 };
const char *format_grouped(char out[NUMBER_SIZE], uint64_t count); /* "1,204" */
/* "12.3 µs" "4.51 ms" "0.201 s" "12.4 s" "3:03" "4 h 03" "2 d 04 h" */
const char *format_seconds(char out[NUMBER_SIZE], double seconds);
/* "0.201 s": seconds with 3 decimals, for columns; below 1 ms "451 µs" */
const char *format_fixed_seconds(char out[NUMBER_SIZE], double s);
const char *format_brief_seconds(char out[NUMBER_SIZE], double s); /* "0.201s"; below 1 ms "451 µs" */
/* "812 B" "1.61 MB" "3.42 GB" (decimal units: 1 MB = 10^6 bytes) */
const char *format_bytes(char out[NUMBER_SIZE], double bytes);
const char *format_count(char out[NUMBER_SIZE], double count);     /* "642" "12.3k" "4.56M" */
const char *format_rate(char out[NUMBER_SIZE], double per_second); /* "0.21" "4.7" "150" "12.3k" */
const char *format_percent(char out[NUMBER_SIZE], double ratio);   /* 0.34 → "34 %" */
const char *format_watts(char out[NUMBER_SIZE], double watts);     /* "8.52 W" "142 W" "1.23 kW" */
const char *format_joules(char out[NUMBER_SIZE], double joules);   /* "3.21 mJ" "84.2 J" "1.23 MJ" */
const char *format_hertz(char out[NUMBER_SIZE], double hertz);     /* "800 MHz" "3.21 GHz" */
const char *format_celsius(char out[NUMBER_SIZE], double celsius); /* "71 °C" */

#endif
