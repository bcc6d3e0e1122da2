#include "src/died/died.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { SHELL_SIGNAL = 128 };

/* Messages of the programs that print them; the first row that is found in a line counts. */
static const struct {
	const char *text;
	enum died_cause cause;
} messages[] = {
	{ "Watchdog caught collective operation timeout", DIED_NCCL_TIMEOUT },
	{ "Some NCCL operations have failed or timed out", DIED_NCCL_TIMEOUT },
	{ "ncclTimeout", DIED_NCCL_TIMEOUT },
	{ "DUE TO TIME LIMIT", DIED_TIME_LIMIT },
	{ "DUE TO PREEMPTION", DIED_TIME_LIMIT },
	{ "CUDA out of memory", DIED_GPU_MEMORY },
	{ "torch.OutOfMemoryError", DIED_GPU_MEMORY },
	{ "CUDA_ERROR_OUT_OF_MEMORY", DIED_GPU_MEMORY },
	{ "RESOURCE_EXHAUSTED: Out of memory", DIED_GPU_MEMORY },
	{ "CUBLAS_STATUS_ALLOC_FAILED", DIED_GPU_MEMORY },
	{ "unable to allocate shared memory(shm)", DIED_SHM_FULL },
	{ "insufficient shared memory (shm)", DIED_SHM_FULL },
	{ "unable to mmap", DIED_HOST_MEMORY },
	{ "No space left on device", DIED_DISK_FULL },
	{ "Disk quota exceeded", DIED_DISK_FULL },
	{ "DataLoader worker (pid", DIED_WORKER_KILLED },
	{ "MemoryError", DIED_HOST_MEMORY },
	{ "std::bad_alloc", DIED_HOST_MEMORY },
	{ "can't allocate memory", DIED_HOST_MEMORY },
	{ "Cannot allocate memory", DIED_HOST_MEMORY },
	{ "an illegal memory access was encountered", DIED_GPU_ERROR },
	{ "device-side assert triggered", DIED_GPU_ERROR },
	{ "uncorrectable ECC error", DIED_GPU_ERROR },
	{ "CUDA error:", DIED_GPU_ERROR },
	{ "unhandled cuda error", DIED_GPU_ERROR },
};

enum died_cause died_cause_of_text(const char *line)
{
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
		if (strstr(line, messages[i].text))
			return messages[i].cause;
	return DIED_UNKNOWN;
}

void died_init(struct died_evidence *evidence)
{
	*evidence = (struct died_evidence){
		.oom_kills = NAN, .ran_s = NAN, .peak_bytes = NAN, .good_ran_s = NAN, .good_peak_bytes = NAN
	};
}

int died_signal(const struct died_evidence *evidence)
{
	if (!evidence->has_status)
		return 0;
	if (WIFSIGNALED(evidence->status))
		return WTERMSIG(evidence->status);
	int status = WEXITSTATUS(evidence->status);
	return status > SHELL_SIGNAL && status <= SHELL_SIGNAL + SIGSYS ? status - SHELL_SIGNAL : 0;
}

/* What is left: an error of the GPU explains it, if the driver reported one. */
static enum died_cause or_gpu(const struct died_evidence *evidence, enum died_cause cause)
{
	return evidence->kernel == DIED_KERNEL_XID ? DIED_GPU_ERROR : cause;
}

static enum died_cause of_exception(const char *exception)
{
	enum died_cause cause = died_cause_of_text(exception);
	if (strncmp(exception, "KeyboardInterrupt", strlen("KeyboardInterrupt")) == 0)
		return DIED_INTERRUPTED;
	return cause != DIED_UNKNOWN ? cause : DIED_EXCEPTION;
}

static enum died_cause of_signal(const struct died_evidence *evidence, int signal_number)
{
	static const struct {
		int number;
		enum died_cause cause;
	} rows[] = { { SIGKILL, DIED_KILLED }, { SIGTERM, DIED_TERMINATED }, { SIGINT, DIED_INTERRUPTED },
		{ SIGSEGV, DIED_CRASH }, { SIGBUS, DIED_CRASH }, { SIGFPE, DIED_CRASH }, { SIGILL, DIED_CRASH },
		{ SIGABRT, DIED_ABORT }, { SIGHUP, DIED_TERMINATED }, { SIGUSR1, DIED_TERMINATED },
		{ SIGXCPU, DIED_TIME_LIMIT } };
	bool is_told = evidence->output.hint != DIED_UNKNOWN;
	/* These signals follow from what the output says; others come from outside. */
	if (is_told && (signal_number == SIGABRT || signal_number == SIGBUS || evidence->output.hint == DIED_TIME_LIMIT))
		return evidence->output.hint;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].number == signal_number)
			return rows[i].cause == DIED_ABORT ? or_gpu(evidence, DIED_ABORT) : rows[i].cause;
	return DIED_UNKNOWN;
}

/* A kill by the kernel is one of this process, or of torchrun's rank that failed first, only if that was killed by
 * SIGKILL, or its own status is unknown and the kernel names it. */
static bool is_oom_kill(const struct died_evidence *evidence, int signal_number)
{
	if (evidence->kernel == DIED_KERNEL_OOM && (!evidence->has_status || signal_number == SIGKILL))
		return true;
	return (signal_number == SIGKILL || evidence->output.child_signal == SIGKILL) && evidence->oom_kills > 0;
}

enum died_cause died_judge(const struct died_evidence *evidence)
{
	const struct died_output *output = &evidence->output;
	int signal_number = died_signal(evidence);
	if (evidence->has_status && evidence->status == 0)
		return DIED_FINISHED;
	if (is_oom_kill(evidence, signal_number))
		return DIED_OOM_KILL;
	/* Its exit status is not known: an error that its output shows may be one that it survived. */
	if (evidence->is_watched && !evidence->has_status)
		return evidence->kernel == DIED_KERNEL_FAULT ? DIED_CRASH : DIED_UNKNOWN;
	if (output->is_child && signal_number == 0)
		return DIED_CHILD_FAILED;
	if (signal_number)
		return of_signal(evidence, signal_number);
	if (evidence->kernel == DIED_KERNEL_FAULT && !evidence->has_status)
		return DIED_CRASH;
	if (output->hint == DIED_NCCL_TIMEOUT)
		return output->hint;
	if (output->exception[0])
		return of_exception(output->exception);
	if (!evidence->has_status && evidence->has_run && evidence->is_orderly)
		return DIED_FINISHED;
	if (output->hint != DIED_UNKNOWN)
		return output->hint;
	return or_gpu(evidence, evidence->has_status ? DIED_EXIT_STATUS : DIED_UNKNOWN);
}
