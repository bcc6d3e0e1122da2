#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "fault_acts.h"
#include "noise.h"

static const struct fault_kind kinds[] = {
#define FAULT_ROW(text, function, where, ms, mb, size, help) { text, help, where, ms, mb, size, act_##function },
	FAULTS(FAULT_ROW)
#undef FAULT_ROW
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* -- the command line -- */

static bool set(struct fault *fault, const char *key, double value)
{
	const struct {
		const char *key;
		double *value;
		double least;
	} keys[] = {
		{ "every", &fault->every, 1 },
		{ "odds", &fault->odds, 0 },
		{ "seconds", &fault->seconds, 0 },
		{ "from", &fault->from, 0 },
		{ "ms", &fault->ms, 0 },
		{ "mb", &fault->mb, 0 },
		{ "size", &fault->size, 0 },
		{ "worker", &fault->worker, 0 },
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(keys[i].key, key) == 0 && value >= keys[i].least) {
			*keys[i].value = value;
			return true;
		}
	}
	return false;
}

static bool is_mistake(const char *text)
{
	fprintf(stderr, "trainer: --fault %s: not understood (--help)\n", text);
	return false;
}

bool faults_add(struct faults *faults, const char *text)
{
	struct fault *fault = &faults->list[faults->count];
	size_t length = strcspn(text, ",");
	char key[16];
	double value;
	int used;

	if (faults->count == FAULTS_MAX)
		return is_mistake(text);
	*fault = (struct fault){ 0 };
	for (size_t i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, text, length) == 0)
			*fault = (struct fault){
				.kind = &kinds[i], .every = 40, .ms = kinds[i].ms, .mb = kinds[i].mb, .size = kinds[i].size
			};
	if (!fault->kind)
		return is_mistake(text);
	for (const char *rest = text + length; *rest; rest += used)
		if (sscanf(rest, ",%15[a-z]=%lf%n", key, &value, &used) != 2 || !set(fault, key, value))
			return is_mistake(text);
	if (fault->kind->phase == AT_LOAD && fault->seconds > 0)
		return is_mistake(text);
	faults->count++;
	return true;
}

void faults_help(void)
{
	puts("  --fault NAME[,every=40|odds=0.05|seconds=2][,from=BATCH][,ms=N][,mb=N][,size=N][,worker=N]: what goes "
		 "wrong, up to four:");
	for (size_t i = 0; i < KINDS; i++)
		printf("    %-16s %s\n", kinds[i].name, kinds[i].help);
}

/* -- before the run -- */

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool needs_one(const struct faults *faults, const char *const *names, double *mb)
{
	bool found = false;

	for (unsigned i = 0; i < faults->count; i++)
		for (const char *const *name = names; *name; name++)
			if (strcmp(faults->list[i].kind->name, *name) == 0) {
				found = true;
				*mb = fmax(*mb, faults->list[i].mb);
			}
	return found;
}

static bool prepare(struct faults *faults, unsigned workers, char *why, size_t size)
{
	static const char *const disk[] = { "cold-read", "direct-read", "page-out", "memory-pressure", "sync", "checkpoint",
		NULL };
	static const char *const others[] = { "hog", "child-hog", "stop", "stop-worker", "quota", "memory-pressure", NULL };
	static const char *const pinned[] = { "hog", "child-hog", NULL };
	static const char *const cpu[] = { "quota", NULL }, *const memory[] = { "memory-pressure", NULL };
	static const char *const loaders[] = { "slow-worker", "stop-worker", NULL };
	double mb = 0, none = 0;

	if (needs_one(faults, loaders, &none) && workers == 0) {
		snprintf(why, size, "there is no worker (--workers)");
		return false;
	}
	if (needs_one(faults, disk, &mb) && !scratch_make(&faults->scratch, mb, faults->seed, why, size))
		return false;
	if (needs_one(faults, pinned, &none) && !act_pin()) {
		snprintf(why, size, "the CPUs cannot be chosen: %s", strerror(errno));
		return false;
	}
	if (needs_one(faults, others, &none) && !accomplice_start(&faults->accomplice)) {
		snprintf(why, size, "%s", strerror(errno));
		return false;
	}
	if (needs_one(faults, cpu, &none) && !cgroup_enter(&faults->cgroup, CGROUP_CPU, why, size))
		return false;
	if (needs_one(faults, memory, &none) && !cgroup_enter(&faults->cgroup, CGROUP_MEMORY, why, size))
		return false;
	if (faults->cgroup.folder[0])
		accomplice_will_remove(&faults->accomplice, faults->cgroup.folder);
	return true;
}

bool faults_start(struct faults *faults, uint64_t seed, uint64_t batches, unsigned workers)
{
	char why[600] = "";

	faults->seed = seed;
	faults->batches = batches;
	snprintf(faults->name, sizeof faults->name, "/trainer.%d", (int)getpid());
	faults->took_s = shared(FAULTS_MAX * batches * sizeof *faults->took_s);
	faults->kept_bytes = shared(FAULTS_MAX * sizeof *faults->kept_bytes);
	faults->queue_s = shared(batches * sizeof *faults->queue_s);
	faults->schedstat_fd = faults->count ? open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC) : -1;
	if (!faults->took_s || !faults->kept_bytes || !faults->queue_s)
		return false;
	if (prepare(faults, workers, why, sizeof why))
		return true;
	fprintf(stderr, "trainer: --fault %s: not here: %s\n", faults->list[0].kind->name, why);
	return false;
}

void faults_end(struct faults *faults)
{
	shm_unlink(faults->name);
	if (faults->accomplice.is_hogging)
		accomplice_hog(&faults->accomplice, false);
	cgroup_leave(&faults->cgroup);
	accomplice_end(&faults->accomplice);
	scratch_end(&faults->scratch);
	if (faults->took_s)
		munmap(faults->took_s, FAULTS_MAX * faults->batches * sizeof *faults->took_s);
	if (faults->kept_bytes)
		munmap(faults->kept_bytes, FAULTS_MAX * sizeof *faults->kept_bytes);
	if (faults->queue_s)
		munmap(faults->queue_s, faults->batches * sizeof *faults->queue_s);
	if (faults->schedstat_fd > 0)
		close(faults->schedstat_fd);
}

/* -- which batches -- */

/* The same in every process. */
static bool is_due(const struct faults *faults, const struct fault *fault, uint64_t batch)
{
	uint64_t noise = (faults->seed + 1) * 0x9e3779b97f4a7c15u ^ (batch + 1) * 0xd1342543de82ef95u;

	if ((double)batch < fault->from || fault->seconds > 0)
		return false;
	if (fault->odds > 0)
		return (double)(noise_next(&noise) >> 11) / (double)(1ULL << 53) < fault->odds;
	return (batch + 1) % (uint64_t)fault->every == 0;
}

static bool is_of_worker(const struct fault *fault) { return strcmp(fault->kind->name, "slow-worker") == 0; }

static void act(struct faults *faults, unsigned number, uint64_t batch, const struct act *act)
{
	struct fault *fault = &faults->list[number];
	int64_t begin_ns = now_ns();

	fault->kind->act(faults, fault, act);
	if (batch < faults->batches)
		faults->took_s[number * faults->batches + batch] += (float)((double)(now_ns() - begin_ns) / 1e9) + 1e-9f;
	faults->kept_bytes[number] += fault->kept_bytes;
	fault->kept_bytes = 0;
}

/* 0 if the kernel does not report it. */
static double queued_s(const struct faults *faults)
{
	char text[96] = "";
	unsigned long long ran_ns, waited_ns;

	if (faults->schedstat_fd < 0 || pread(faults->schedstat_fd, text, sizeof text - 1, 0) <= 0 ||
		sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
		return 0;
	return (double)waited_ns / 1e9;
}

void faults_begin(struct faults *faults, uint64_t batch)
{
	int64_t now = now_ns();

	faults->queue_begin_s = queued_s(faults);
	for (unsigned i = 0; i < faults->count; i++) {
		struct fault *fault = &faults->list[i];

		fault->is_on = is_due(faults, fault, batch);
		if (fault->seconds <= 0 || (double)batch < fault->from)
			continue;
		if (!fault->next_ns)
			fault->next_ns = now + (int64_t)(fault->seconds * 1e9);
		fault->is_on = now >= fault->next_ns;
		if (fault->is_on)
			fault->next_ns += (int64_t)(fault->seconds * 1e9);
	}
	for (unsigned i = 0; i < faults->count; i++)
		if (faults->list[i].is_on && faults->list[i].kind->phase == AT_SIZE)
			act(faults, i, batch, &(struct act){ 0 });
}

void faults_at(struct faults *faults, enum fault_phase phase, struct pmtop *pm, uint64_t batch, pid_t worker)
{
	for (unsigned i = 0; i < faults->count; i++)
		if (faults->list[i].is_on && faults->list[i].kind->phase == phase)
			act(faults, i, batch, &(struct act){ .pm = pm, .batch = batch, .worker = worker, .begin_ns = now_ns() });
}

void faults_finish(struct faults *faults, uint64_t batch)
{
	for (unsigned i = 0; i < faults->count; i++)
		if (faults->list[i].is_on && faults->list[i].kind->phase == AT_BATCH)
			act(faults, i, batch, &(struct act){ .batch = batch, .is_end = true });
	free(faults->block);
	faults->block = NULL;
	if (batch < faults->batches)
		faults->queue_s[batch] = (float)(queued_s(faults) - faults->queue_begin_s);
}

void faults_load(struct faults *faults, uint64_t batch, int worker)
{
	for (unsigned i = 0; i < faults->count; i++) {
		const struct fault *fault = &faults->list[i];
		bool is_on = is_of_worker(fault) ? worker == (int)fault->worker && (double)batch >= fault->from
										 : is_due(faults, fault, batch);

		if (is_on && fault->kind->phase == AT_LOAD)
			act(faults, i, batch, &(struct act){ .batch = batch, .begin_ns = now_ns() });
	}
}

bool faults_wait_for(const struct faults *faults, uint64_t batch)
{
	for (unsigned i = 0; i < faults->count; i++) {
		const struct fault *fault = &faults->list[i];
		bool is_before = fault->kind->phase == AT_LOAD || fault->kind->phase == AT_DATA;

		if (is_before && !is_of_worker(fault) && fault->ms > 0 && is_due(faults, fault, batch))
			return true;
	}
	return false;
}

unsigned faults_samples(const struct faults *faults, uint64_t batch, unsigned size)
{
	for (unsigned i = 0; i < faults->count; i++)
		if (faults->list[i].kind->phase == AT_SIZE && is_due(faults, &faults->list[i], batch))
			return (unsigned)((double)size * faults->list[i].size);
	return size;
}

unsigned faults_samples_max(const struct faults *faults, unsigned size)
{
	double most = 1;

	for (unsigned i = 0; i < faults->count; i++)
		if (faults->list[i].kind->phase == AT_SIZE)
			most = fmax(most, faults->list[i].size);
	return (unsigned)((double)size * most);
}

/* -- the truth -- */

/* What the column says of each batch in which the fault happened; NULL: its number. */
static void put_column(
	FILE *file, const char *key, const float *took_s, const double *wide, const float *narrow, uint64_t batches)
{
	const char *separator = "";

	fprintf(file, ",\"%s\":[", key);
	for (uint64_t batch = 0; batch < batches; batch++) {
		if (took_s[batch] <= 0)
			continue;
		fputs(separator, file);
		if (wide || narrow)
			fprintf(file, "%.6f", wide ? wide[batch] : (double)narrow[batch]);
		else
			fprintf(file, "%llu", (unsigned long long)batch);
		separator = ",";
	}
	fputs("]", file);
}

void faults_write(const struct faults *faults, FILE *file, const double *seconds, uint64_t batches)
{
	fputs(",\"faults\":[", file);
	for (unsigned i = 0; i < faults->count; i++) {
		const struct fault *fault = &faults->list[i];
		const float *took_s = faults->took_s + i * faults->batches;

		fprintf(file, "%s{\"name\":\"%s\",\"every\":%g,\"odds\":%g,\"seconds\":%g,\"from\":%g,\"kept_bytes\":%.0f",
			i ? "," : "", fault->kind->name, fault->every, fault->odds, fault->seconds, fault->from,
			faults->kept_bytes[i]);
		put_column(file, "batches", took_s, NULL, NULL, batches);
		put_column(file, "took_s", took_s, NULL, took_s, batches);
		put_column(file, "batch_s", took_s, seconds, NULL, batches);
		put_column(file, "queue_s", took_s, NULL, faults->queue_s, batches);
		fputs("}", file);
	}
	fputs("]", file);
}
