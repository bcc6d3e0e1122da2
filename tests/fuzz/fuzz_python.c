/* Memory of a Python that lies: a real one, stopped within a loop over a loader, of which words are other ones when
 * pmtop reads them. What is searched, walked and read of it: interpreters, threads, frames, code, objects, loops.
 *
 * Input: edits of { u16 read, u16 word, u8 kind, u8 value }: in so manieth a read of memory, which word, and what it is
 * instead. The first byte, flags: 1 = from the search for Python on, else Python was found before; 2 = all threads'
 * stacks, as `pmtop stack` reads them, else the samples, loops and loaders of the main one. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/sources/python/counters/py_counter.h"
#include "src/sources/python/counters/py_linecache.h"
#include "src/sources/python/loops/py_loops.h"
#include "src/sources/python/py_sampler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EDIT_SIZE = 6, FLAG_SEARCH = 1, FLAG_STACKS = 2, SAMPLES = 3, MS_TO_BEGIN = 300 };

#define CELL "/tmp/ipykernel_1/1.py"

static const char script[] = "import importlib.util, linecache, sys\n"
							 "linecache.cache['" CELL "'] = 9, None, ['for i in x:\\n'] * 200, '" CELL "'\n"
							 "spec = importlib.util.spec_from_file_location('torch.utils.data.dataloader', "
							 "'tests/workloads/stand_in.py')\n"
							 "stand_in = importlib.util.module_from_spec(spec)\n"
							 "spec.loader.exec_module(stand_in)\n"
							 "sys.path.insert(0, 'tests/workloads')\n"
							 "import sized\n"
							 "forms = [form(4000) for form in sized.SIZES]\n"
							 "def made():\n"
							 "    loader = stand_in.DataLoader(range(4000), batch_size=4)\n"
							 "    forms.append(forms.pop(0))\n"
							 "    loader.index_sampler.sampler = forms[0]\n"
							 "    return loader\n"
							 "def train(loader):\n"
							 "    losses, total = [], 0.0\n"
							 "    for number, batch in enumerate(iter(loader)):\n"
							 "        for pair in zip(range(9), (x for x in [None] * 9), map(str, range(9))):\n"
							 "            loss = float(sum(value for value in range(number % 50)))\n"
							 "            losses.append(loss)\n"
							 "            total += loss\n"
							 "def deep(depth):\n"
							 "    return deep(depth - 1) if depth else train(made())\n"
							 "print('ready', flush=True)\n"
							 "while True:\n"
							 "    deep(10)\n";

static pid_t python;
static int directory = -1;
static const uint8_t *edits;
static size_t edits_size, reads;
static bool is_edited;

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static uint64_t instead(uint64_t word, unsigned kind, uint64_t value)
{
	switch (kind % 8) {
	case 0: return UINT64_MAX - value;
	case 1: return value;
	case 2: return word + value * 8;
	case 3: return word - value * 8;
	case 4: return word ^ UINT64_C(1) << value % 64;
	case 5: return word & ~(UINT64_C(255) << value % 8 * 8);
	case 6: return UINT64_C(1) << value % 64;
	default: return word << value % 64 | word >> (63 - value % 64);
	}
}

static void edit(unsigned char *bytes, size_t words)
{
	for (size_t at = 0; at + EDIT_SIZE <= edits_size; at += EDIT_SIZE) {
		const uint8_t *one = edits + at;
		uint64_t word;
		if ((size_t)(one[0] | one[1] << 8) != reads)
			continue;
		unsigned char *to = bytes + (size_t)(one[2] | one[3] << 8) % words * sizeof word;
		memcpy(&word, to, sizeof word);
		word = instead(word, one[4], one[5]);
		memcpy(to, &word, sizeof word);
	}
}

/* Replaces the C library's function. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count, const struct iovec *there,
	unsigned long there_count, unsigned long flags)
{
	ssize_t got = syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count, flags);
	for (unsigned long i = 0; is_edited && got > 0 && i < here_count; i++, reads++)
		if (here[i].iov_len >= sizeof(uint64_t))
			edit(here[i].iov_base, here[i].iov_len / sizeof(uint64_t));
	return got;
}

static void start_python(void)
{
	int out[2];
	char line[16], path[32];
	must(pipe(out) == 0);
	python = fork();
	if (python == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		execlp("python3", "python3", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	must(read(out[0], line, sizeof line) > 0);
	close(out[0]);
	snprintf(path, sizeof path, "/proc/%d", (int)python);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	usleep(MS_TO_BEGIN * 1000);
	must(directory >= 0 && kill(python, SIGSTOP) == 0);
}

static void read_loops(struct py_loops *loops, const struct py_sample *sample)
{
	struct py_loop found[PY_LOOPS_MAX];
	struct py_loss loss;
	size_t count = py_loops_read(loops, sample, found, PY_LOOPS_MAX);
	must(count <= PY_LOOPS_MAX);
	for (size_t i = 0; i < count; i++) {
		must(memchr(found[i].name, '\0', sizeof found[i].name) != NULL);
		py_loop_poll(loops, &found[i]);
	}
	for (size_t i = 0; i < sample->count; i++) {
		py_loop_loss(loops, sample, i, &(struct py_steps_at){ .is_function = true }, &loss);
		for (size_t j = 0; j < count; j++)
			py_loop_loss(loops, sample, i, &(struct py_steps_at){ true, found[j].loop_line, found[j].loader }, &loss);
	}
}

static void read_cell(const struct py_process *process, const struct py_sample *sample)
{
	uint64_t cache;
	char *text = NULL;
	size_t length = 0;
	if (py_linecache_find(process, sample, &cache) && py_linecache_read(process, cache, CELL, &text, &length))
		must(length > 0 && text[length - 1] == '\n');
	free(text);
}

static void sample_all(struct py_sampler *sampler, struct py_counter *counter, struct py_loops *loops)
{
	static struct py_sample sample;
	bool is_sampled = false;
	const struct py_counted *counted;
	size_t count;
	for (int64_t i = 1; i <= SAMPLES; i++) {
		int64_t now_ns = i * INT64_C(2000000000);
		if (py_sampler_sample(sampler, now_ns, &sample) == STATUS_OK) {
			must(sample.count <= PY_FRAMES_MAX);
			py_counter_note(counter, &sample, now_ns);
			read_loops(loops, &sample);
			is_sampled = true;
		}
		py_counter_poll(counter, now_ns, &counted, &count);
	}
	if (is_sampled)
		read_cell(py_sampler_process(sampler), &sample);
}

static void read_samples(void)
{
	struct py_sampler *sampler;
	struct py_counter *counter = NULL;
	struct py_loops *loops = NULL;
	struct reason why;
	bool was_edited = is_edited;
	if (py_sampler_open(python, directory, NULL, &sampler, &why) != STATUS_OK)
		return;
	must(py_counter_open(py_sampler_process(sampler), &counter, &why) == STATUS_OK || was_edited);
	must(py_loops_open(py_sampler_process(sampler), &loops, &why) == STATUS_OK || was_edited);
	is_edited = true;
	if (counter && loops)
		sample_all(sampler, counter, loops);
	if (loops)
		py_loops_close(loops);
	if (counter)
		py_counter_close(counter);
	py_sampler_close(sampler);
}

static void read_stacks(void)
{
	struct py_stacks stacks = { 0 };
	struct py_process *process;
	struct reason why;
	if (py_open(python, directory, NULL, &process, &why) != STATUS_OK)
		return;
	is_edited = true;
	if (py_reading(process, &stacks, &why) == STATUS_OK)
		must(stacks.thread_count <= PY_THREADS_MAX);
	py_close(process);
	py_stacks_release(&stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (directory < 0)
		start_python();
	edits = data + 1, edits_size = size - 1, reads = 0;
	is_edited = data[0] & FLAG_SEARCH;
	if (data[0] & FLAG_STACKS)
		read_stacks();
	else
		read_samples();
	is_edited = false;
	return 0;
}
