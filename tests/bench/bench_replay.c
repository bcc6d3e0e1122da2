/* What a replay costs: going through a recording, with and without rules, and seeking in it; in CPU time. Arguments:
 * hours (1), scenario. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/playback/timeline.h"
#include "src/session/replay/stations.h"
#include "tests/support/recorded.h"

static double seconds_since(int64_t from_ns) { return seconds_between(from_ns, clock_process_cpu_ns()); }

static void report(const char *what, double seconds, double hours)
{
	printf("row\treplay: %s, CPU\t%.4f\t%.4f\t%.4f\t-\ts\t%.2g h of a synthetic run, %.0f times as fast\n", what,
		seconds, seconds, seconds, hours, 3600 * hours / seconds);
	fflush(stdout);
}

static double go(struct session *session, int64_t time_ns, int64_t judge_before_ns)
{
	int64_t from_ns = clock_process_cpu_ns();
	struct goal goal = { .kind = GOAL_TIME, .time_ns = time_ns, .judge_from_ns = time_ns - judge_before_ns };
	while (seek_on(session, &goal, NS_PER_S) == SEEK_GOES_ON)
		continue;
	return seconds_since(from_ns);
}

static void time_stations(struct session *session, int64_t end_ns, double hours)
{
	struct stations *stations = stations_start(session, RECORDED_BEGIN_NS, end_ns);
	struct goal goal = goal_at(end_ns - 10 * NS_PER_S);
	struct session *station = NULL;
	int64_t from_ns = clock_process_cpu_ns();
	while (!(station = stations_take(stations, &goal, end_ns - (end_ns - RECORDED_BEGIN_NS) / 3)))
		usleep(2000);
	report("stations made until one is near the end", seconds_since(from_ns), hours);
	stations_give(stations, station);
	usleep(100000);
	int64_t wall_ns = clock_monotonic_ns();
	station = stations_take(stations, &goal, INT64_MIN);
	go(station, goal.time_ns, goal.time_ns - goal.judge_from_ns);
	double seconds = seconds_between(wall_ns, clock_monotonic_ns());
	printf("row\treplay: from a station to ten seconds before the end\t%.4f\t%.4f\t%.4f\t-\ts\tof the clock\n", seconds,
		seconds, seconds);
	session_again_close(station);
	free(station);
	stations_stop(stations);
}

int main(int argc, char **argv)
{
	double hours = argc > 1 ? strtod(argv[1], NULL) : getenv("PMTOP_BENCH_SMOKE") ? 0.05 : 1;
	char path[] = "/tmp/pmtop-bench-replay-XXXXXX";
	struct recorded_options options = { .scenario = argc > 2 ? argv[2] : "cold-read", .seconds = hours * 3600 };
	struct settings settings;
	struct session session, again;
	struct stat file;
	struct rusage usage;
	close(mkstemp(path));
	settings_default(&settings);
	int64_t from_ns = clock_process_cpu_ns(), end_ns = RECORDED_BEGIN_NS + (int64_t)(hours * 3600) * NS_PER_S;
	recorded_write(path, &options, NULL, NULL);
	stat(path, &file);
	printf("row\treplay: the recording\t%.4g\t%.4g\t%.4g\t-\tMB\twritten in %.2f s\n", (double)file.st_size / 1e6,
		(double)file.st_size / 1e6, (double)file.st_size / 1e6, seconds_since(from_ns));
	if (session_open(&session, &(struct options){ .command = &watch_command, .replay = path }, &settings) != EXIT_OK)
		return 1;
	from_ns = clock_process_cpu_ns();
	struct timeline *timeline = timeline_start(session.player, &session.model_options);
	struct timeline_state seen;
	do {
		usleep(2000);
		timeline_read(timeline, &seen);
	} while (!seen.is_whole);
	report("outline of the whole, no rules", seconds_since(from_ns), hours);
	timeline_stop(timeline);
	report("forward to the end", go(&session, end_ns, 600 * NS_PER_S), hours);
	if (!session_again(&session, &again))
		return 1;
	report("the same, all rules all along", go(&again, end_ns, INT64_MAX / 2), hours);
	session_again_close(&again);
	if (!session_again(&session, &again))
		return 1;
	report("back to the middle", go(&again, RECORDED_BEGIN_NS + (int64_t)(hours * 1800) * NS_PER_S, 600 * NS_PER_S),
		hours / 2);
	session_again_close(&again);
	if (!session_again(&session, &again))
		return 1;
	report("no rules at all", go(&again, end_ns, INT64_MIN / 4), hours);
	session_again_close(&again);
	/* A short recording has none. */
	if (hours >= 1)
		time_stations(&session, end_ns, hours);
	session_close(&session);
	getrusage(RUSAGE_SELF, &usage);
	double resident_mb = (double)usage.ru_maxrss / 1e3;
	printf("row\treplay: largest resident set\t%.4g\t%.4g\t%.4g\t-\tMB\twith all of the above\n", resident_mb,
		resident_mb, resident_mb);
	unlink(path);
	return 0;
}
