/* profile_token.h: the tokens of JSON, read in place. Inline, for they take most of the time of reading a trace.
 *
 * A buffer ends with PROFILE_TOKEN_PADDING bytes that are no JSON, beginning with '#'. A function returns where it
 * stopped, or NULL: the text is malformed, or (the caller then reads on and tries again) not there yet. */
#ifndef PMTOP_TRACE_PROFILE_TOKEN_H
#define PMTOP_TRACE_PROFILE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { PROFILE_TOKEN_PADDING = 64 };

struct profile_slice {
	const char *text; /* NULL = absent */
	size_t length;
};

/* memcmp for short texts of equal length, without a call. */
static inline bool token_equal(const char *a, const char *b, size_t length)
{
	uint64_t first[2], last[2];
	if (length < 8) {
		for (size_t i = 0; i < length; i++)
			if (a[i] != b[i])
				return false;
		return true;
	}
	if (length > 16)
		return memcmp(a, b, length) == 0;
	memcpy(&first[0], a, 8);
	memcpy(&first[1], b, 8);
	memcpy(&last[0], a + length - 8, 8);
	memcpy(&last[1], b + length - 8, 8);
	return first[0] == first[1] && last[0] == last[1];
}

static inline const char *token_space(const char *at)
{
	while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
		at++;
	return at;
}

/* `at`: behind the opening quote. Returns the closing quote. */
static inline const char *token_string_end(const char *at, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
	while (at < end) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, escape)));
		if (!found) {
			at += 16;
			continue;
		}
		at += __builtin_ctz((unsigned)found);
		if (*at == '"')
			return at < end ? at : NULL;
		at += 2;
	}
#else
	for (; at < end; at += *at == '\\' ? 2 : 1)
		if (*at == '"')
			return at;
#endif
	return NULL;
}

/* The next quote or bracket at or behind `at`. */
static inline const char *token_bracket(const char *at, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), shut = _mm_set1_epi8('}'),
				  low = _mm_set1_epi8(0x20);
	while (at < end) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i lowered = _mm_or_si128(bytes, low);
		int found = _mm_movemask_epi8(_mm_or_si128(
			_mm_cmpeq_epi8(bytes, quote), _mm_or_si128(_mm_cmpeq_epi8(lowered, open), _mm_cmpeq_epi8(lowered, shut))));
		if (found)
			return at + __builtin_ctz((unsigned)found);
		at += 16;
	}
#else
	for (; at < end; at++)
		if (*at == '"' || (*at | 0x20) == '{' || (*at | 0x20) == '}')
			return at;
#endif
	return NULL;
}

/* Behind the array or object that is `depth` levels deep at `at`. Brackets are counted, not matched: no recursion. */
static inline const char *token_leave_nested(const char *at, const char *end, size_t depth)
{
	while ((at = token_bracket(at, end)) && at < end) {
		char byte = *at++;
		if (byte == '"') {
			if (!(at = token_string_end(at, end)))
				return NULL;
			at++;
		} else if ((byte | 0x20) == '{') {
			depth++;
		} else if (--depth == 0) {
			return at;
		}
	}
	return NULL;
}

#ifdef __SSE2__
/* Which of 64 bytes are quotes, brackets, …: a bit each. */
struct token_marks {
	uint64_t quotes, opens, shuts, escapes;
};

static inline uint64_t token_mark(__m128i bytes, __m128i byte, unsigned shift)
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, byte)) << shift;
}

static inline struct token_marks token_marks_of(const char *at)
{
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), shut = _mm_set1_epi8('}'),
				  low = _mm_set1_epi8(0x20), escape = _mm_set1_epi8('\\');
	struct token_marks marks = { 0 };
	for (unsigned i = 0; i < 64; i += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i)), lowered = _mm_or_si128(bytes, low);
		marks.quotes |= token_mark(bytes, quote, i);
		marks.opens |= token_mark(lowered, open, i);
		marks.shuts |= token_mark(lowered, shut, i);
		marks.escapes |= token_mark(bytes, escape, i);
	}
	return marks;
}

/* Each bit: whether an odd number of bits at or below it is set. */
static inline uint64_t token_parity(uint64_t bits)
{
	for (unsigned shift = 1; shift < 64; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

static inline const char *token_skip_nested(const char *at, const char *end)
{
	size_t depth = 0;
	uint64_t is_in_string = 0; /* all bits, or none */
	for (; at < end; at += 64) {
		struct token_marks marks = token_marks_of(at);
		if (marks.escapes) {
			if (is_in_string && (at = token_string_end(at, end)))
				at++;
			return at ? token_leave_nested(at, end, depth) : NULL;
		}
		uint64_t strings = token_parity(marks.quotes) ^ is_in_string, brackets = (marks.opens | marks.shuts) & ~strings;
		is_in_string = (uint64_t)((int64_t)strings >> 63);
		for (; brackets; brackets &= brackets - 1) {
			depth += marks.opens & brackets & -brackets ? 1 : (size_t)-1;
			if (!depth)
				return at + __builtin_ctzll(brackets) + 1;
		}
	}
	return NULL;
}
#else
static inline const char *token_skip_nested(const char *at, const char *end) { return token_leave_nested(at, end, 0); }
#endif

static inline bool token_ends_scalar(char byte)
{
	return byte == ',' || byte == '}' || byte == ']' || byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' ||
		byte == '"' || byte == '#';
}

/* Behind the digits, points and signs at `at`, or some of them. */
static inline const char *token_digits_end(const char *at)
{
#ifdef __SSE2__
	const __m128i first = _mm_set1_epi8('-'), range = _mm_set1_epi8('9' - '-');
	__m128i bytes = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), first);
	unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, range), bytes));
	return at + __builtin_ctz(~found);
#else
	return at;
#endif
}

/* Behind a value of any kind; *value, if wanted, is its text, a string's without quotes. */
static inline const char *token_value(const char *at, const char *end, struct profile_slice *value)
{
	const char *start = at, *stop;
	if (*at == '"') {
		if (!(stop = token_string_end(++start, end)))
			return NULL;
		at = stop + 1;
	} else if (*at == '{' || *at == '[') {
		if (!(at = stop = token_skip_nested(at, end)))
			return NULL;
	} else {
		at = token_digits_end(at);
		while (!token_ends_scalar(*at))
			at++;
		if (at == start || at >= end)
			return NULL;
		stop = at;
	}
	*value = (struct profile_slice){ start, (size_t)(stop - start) };
	return at;
}

/* Whether the slice is a whole number (maybe negative) that fits. */
static inline bool token_whole(struct profile_slice slice, int64_t *out)
{
	size_t i = slice.length > 0 && slice.text[0] == '-';
	uint64_t value = 0;
	if (slice.length == i || slice.length > 18 + i)
		return false;
	for (size_t k = i; k < slice.length; k++) {
		unsigned digit = (unsigned)(slice.text[k] - '0');
		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	*out = i ? -(int64_t)value : (int64_t)value;
	return true;
}

/* As a double, for what is rare; false: no finite number. */
static inline bool token_number(struct profile_slice slice, double *out)
{
	char text[48], *stop;
	if (!slice.length || slice.length >= sizeof text)
		return false;
	memcpy(text, slice.text, slice.length);
	text[slice.length] = '\0';
	double value = strtod(text, &stop);
	if (*stop || !(value > -1e300 && value < 1e300))
		return false;
	*out = value;
	return true;
}

/* Microseconds with decimals as whole nanoseconds: "4549984582819.472". False: not a number, or beyond 73 years,
 * so that sums of two do not overflow. */
static inline bool token_nanoseconds(struct profile_slice slice, int64_t *out)
{
	if (!slice.length)
		return false;
	const char *at = slice.text, *stop = at + slice.length;
	bool is_negative = *at == '-';
	uint64_t whole = 0, part = 0;
	unsigned digit;
	at += is_negative;
	const char *first = at;
	while (at < stop && (digit = (unsigned)(*at - '0')) <= 9 && at - first < 16)
		whole = whole * 10 + digit, at++;
	if (at == first)
		return false;
	if (at < stop && *at == '.') {
		unsigned digits = 0;
		for (at++; at < stop && (digit = (unsigned)(*at - '0')) <= 9; at++, digits++) {
			if (digits < 3)
				part = part * 10 + digit;
			else if (digits == 3 && digit >= 5)
				part++;
		}
		for (; digits < 3; digits++)
			part *= 10;
	}
	if (at != stop) {
		double value;
		if (!token_number(slice, &value) || value < -2.3e15 || value > 2.3e15)
			return false;
		*out = (int64_t)(value * 1000);
		return true;
	}
	if (whole > 2300000000000000)
		return false;
	int64_t ns = (int64_t)(whole * 1000 + part);
	*out = is_negative ? -ns : ns;
	return true;
}

#endif
