#include "src/base/status.h"

#include <stdarg.h>
#include <stdio.h>

enum status reason_set(struct reason *reason, enum status status, const char *remedy, const char *format, ...)
{
	if (reason) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(reason->text, sizeof reason->text, format, arguments);
		va_end(arguments);
		snprintf(reason->remedy, sizeof reason->remedy, "%s", remedy ? remedy : "");
	}
	return status;
}
