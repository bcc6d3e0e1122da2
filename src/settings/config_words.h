/* config_words.h: words and numbers of a configuration file. */
#ifndef PMTOP_SETTINGS_CONFIG_WORDS_H
#define PMTOP_SETTINGS_CONFIG_WORDS_H

#include <stdbool.h>

#include "src/settings/config_reader.h"

struct buffer;

/* Reads a decimal number, with a point in every locale. Unlike strtod it refuses hexadecimal, "inf" and "nan". */
bool config_number(const char *text, double *value);
bool config_whole_number(const char *text, double *value);

/* "true" or "false". */
bool config_truth(const char *text, bool *value);
/* The name that is most similar to `word`; NULL if none is similar. */
const char *config_closest(const char *word, config_names *next, const void *argument);
/* `did you mean "mad"? keys are: mad, ratio, …` */
void config_advise(const char *word, const char *before, config_names *next, const void *argument, struct buffer *out);

#endif
