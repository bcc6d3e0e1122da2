#include "src/serving/http_request.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *begin, *end;
};

static size_t size_of(struct span span) { return (size_t)(span.end - span.begin); }

static bool is_word(struct span span, const char *word)
{
	return size_of(span) == strlen(word) && strncasecmp(span.begin, word, size_of(span)) == 0;
}

static struct span trimmed(struct span span)
{
	while (span.begin < span.end && (*span.begin == ' ' || *span.begin == '\t'))
		span.begin++;
	while (span.begin < span.end && (span.end[-1] == ' ' || span.end[-1] == '\t' || span.end[-1] == '\r'))
		span.end--;
	return span;
}

/* Cuts the part up to `mark` off the front; all, if there is none. */
static struct span cut(struct span *rest, char mark)
{
	const char *end = size_of(*rest) ? memchr(rest->begin, mark, size_of(*rest)) : NULL;
	struct span part = { rest->begin, end ? end : rest->end };
	rest->begin = end ? end + 1 : rest->end;
	return part;
}

/* The end of the head, behind its empty line; NULL: not there yet. */
static const char *end_of_head(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\n')
			continue;
		size_t next = i + 1 + (i + 1 < length && text[i + 1] == '\r');
		if (next < length && text[next] == '\n')
			return text + next + 1;
	}
	return NULL;
}

static bool read_first_line(struct span line, struct http_request *out)
{
	struct span method = cut(&line, ' '), target = cut(&line, ' '), version = trimmed(line);
	struct span path = cut(&target, '?');
	if (size_of(method) == 0 || size_of(version) != 8 || strncmp(version.begin, "HTTP/1.", 7) != 0 ||
		size_of(path) == 0 || *path.begin != '/')
		return false;
	out->is_get = is_word(method, "GET");
	out->is_head = is_word(method, "HEAD");
	if (size_of(path) < sizeof out->path && !memchr(path.begin, '\0', size_of(path)))
		memcpy(out->path, path.begin, size_of(path));
	return true;
}

/* "[::1]:9000", "localhost:9000" */
static void read_host(struct span value, struct http_request *out)
{
	struct span host = value;
	if (size_of(value) && *value.begin == '[') {
		host.begin++;
		host = cut(&host, ']');
	} else {
		host = cut(&host, ':');
	}
	bool is_name = size_of(host) < sizeof out->host && !(size_of(host) && memchr(host.begin, '\0', size_of(host)));
	memset(out->host, 0, sizeof out->host);
	if (is_name)
		memcpy(out->host, host.begin, size_of(host));
	else
		out->host[0] = '?';
}

/* The parameter q of one range of Accept, 1 if there is none. */
static double quality_of(struct span parameters)
{
	while (size_of(parameters)) {
		struct span parameter = trimmed(cut(&parameters, ';')), name = cut(&parameter, '=');
		char number[8] = "";
		if (!is_word(name, "q"))
			continue;
		if (size_of(parameter) < sizeof number)
			memcpy(number, parameter.begin, size_of(parameter));
		return strtod(number, NULL);
	}
	return 1;
}

static void read_accept(struct span value, struct http_request *out)
{
	double openmetrics = 0, plain = 0;
	while (size_of(value)) {
		struct span range = trimmed(cut(&value, ',')), type = trimmed(cut(&range, ';'));
		if (is_word(type, "application/openmetrics-text"))
			openmetrics = quality_of(range);
		else if (is_word(type, "text/plain"))
			plain = quality_of(range);
	}
	out->wants_openmetrics = openmetrics > 0 && openmetrics >= plain;
}

enum http_parse http_request_parse(const char *text, size_t length, struct http_request *out)
{
	const char *end = end_of_head(text, length);
	struct http_request request = { 0 };
	if (!end)
		return HTTP_INCOMPLETE;
	struct span rest = { text, end };
	if (!read_first_line(cut(&rest, '\n'), &request))
		return HTTP_MALFORMED;
	while (size_of(rest)) {
		struct span line = cut(&rest, '\n'), name = trimmed(cut(&line, ':')), value = trimmed(line);
		if (is_word(name, "host"))
			read_host(value, &request);
		else if (is_word(name, "accept"))
			read_accept(value, &request);
	}
	*out = request;
	return HTTP_COMPLETE;
}

bool http_host_is_local(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];
	return !*host || strcasecmp(host, "localhost") == 0 || inet_pton(AF_INET, host, address) == 1 ||
		inet_pton(AF_INET6, host, address) == 1;
}
