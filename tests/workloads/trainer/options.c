#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_COUNT(text, member, initial, least, help) +1

enum {
	NUMBERS_COUNT = 0 NUMBERS(NUMBER_COUNT),
	NAME = NUMBERS_COUNT,
	TRUTH,
	FAULT,
	NO_PUBLISH,
	QUIET_KINDS,
	QUIET_WORKERS,
	WAIT_FOR_ENTER,
	HELP,
	OPTIONS_COUNT
};

#define NUMBER_OPTION(text, member, initial, least, help) { text, required_argument, NULL, 0 },

static const struct option long_options[OPTIONS_COUNT + 1] = {
	NUMBERS(NUMBER_OPTION)[NAME] = { "name", required_argument, NULL, 0 },
	[TRUTH] = { "truth", required_argument, NULL, 0 },
	[FAULT] = { "fault", required_argument, NULL, 0 },
	[NO_PUBLISH] = { "no-publish", no_argument, NULL, 0 },
	[QUIET_KINDS] = { "quiet-kinds", no_argument, NULL, 0 },
	[QUIET_WORKERS] = { "quiet-workers", no_argument, NULL, 0 },
	[WAIT_FOR_ENTER] = { "wait-for-enter", no_argument, NULL, 0 },
	[HELP] = { "help", no_argument, NULL, 0 },
};

static void help(void)
{
#define NUMBER_HELP(text, member, initial, least, help) \
	printf("  --%-14s N  %s (default %g)\n", text, help, (double)(initial));
	puts("trainer: trains a small network on made-up digits and publishes the run through pmtop.h");
	NUMBERS(NUMBER_HELP)
	puts("  --name           RUN   name of the run (default digits)\n"
		 "  --truth          FILE  write what really happened, as JSON\n"
		 "  --no-publish           train only\n"
		 "  --quiet-kinds          which batches accumulate is not published\n"
		 "  --quiet-workers        loader processes publish nothing\n"
		 "  --wait-for-enter       open the run, say \"ready\", then wait for a line on standard input");
	faults_help();
	puts("RANK, WORLD_SIZE, LOCAL_RANK and PMTOP_RUN_ID (or TORCHELASTIC_RUN_ID, MASTER_ADDR, MASTER_PORT) of the "
		 "environment are published.\n"
		 "SIGINT and SIGTERM end it after the batch. Exit: 0 ended, 1 failed, 2 usage, 77 the fault cannot be planted "
		 "here.");
#undef NUMBER_HELP
}

static double number(const char *option, const char *text, double least)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= 1e9)) {
		fprintf(stderr, "trainer: --%s %s: not a number of at least %g\n", option, text, least);
		exit(2);
	}
	return value;
}

void options_parse(struct options *options, int argc, char **argv)
{
#define NUMBER_DEFAULT(text, member, initial, least, help) .member = (initial),
	*options = (struct options){ NUMBERS(NUMBER_DEFAULT).name = "digits" };
#define NUMBER_TARGET(text, member, initial, least, help) { &options->member, (least) },
	const struct {
		double *value, least;
	} targets[] = { NUMBERS(NUMBER_TARGET) };
	int which, code;

	while ((code = getopt_long(argc, argv, "", long_options, &which)) != -1) {
		if (code != 0)
			exit(2);
		if (which < NUMBERS_COUNT)
			*targets[which].value = number(long_options[which].name, optarg, targets[which].least);
		else if (which == NAME)
			options->name = optarg;
		else if (which == TRUTH)
			options->truth = optarg;
		else if (which == FAULT && !faults_add(&options->faults, optarg))
			exit(2);
		options->no_publish |= which == NO_PUBLISH;
		options->quiet_kinds |= which == QUIET_KINDS;
		options->quiet_workers |= which == QUIET_WORKERS;
		options->wait_for_enter |= which == WAIT_FOR_ENTER;
		if (which == HELP) {
			help();
			exit(0);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "trainer: %s: not understood (--help)\n", argv[optind]);
		exit(2);
	}
}
