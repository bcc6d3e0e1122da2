/* traces.h: small traces of torch.profiler, made up. Times are microseconds, as texts. */
#ifndef PMTOP_TESTS_SUPPORT_TRACES_H
#define PMTOP_TESTS_SUPPORT_TRACES_H

#include "src/trace/analysis/profile_analysis.h"

#define TRACE_HOST(cat, name, tid, ts, dur, args) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{" args "}}"
#define TRACE_OP(name, ts, dur, id) TRACE_HOST("cpu_op", name, "1", ts, dur, "\"External id\":" id)
#define TRACE_SHAPED(name, ts, dur, id, dims) \
	TRACE_HOST("cpu_op", name, "1", ts, dur, "\"External id\":" id ",\"Input Dims\":" dims)
#define TRACE_PYTHON(name, ts, dur) TRACE_HOST("python_function", name, "1", ts, dur, "\"Python id\":1")
#define TRACE_STEP(name, ts, dur) TRACE_HOST("user_annotation", name, "1", ts, dur, "\"External id\":900")
#define TRACE_CALL(name, ts, dur, id) TRACE_HOST("cuda_runtime", name, "1", ts, dur, "\"correlation\":" id)
#define TRACE_WORK(cat, name, stream, ts, dur, args) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{\"device\":0,\"stream\":" stream "," args "}}"
#define TRACE_KERNEL(name, stream, ts, dur, args) TRACE_WORK("kernel", name, stream, ts, dur, args)
#define TRACE_MEMORY(ts, bytes, total, address) \
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts \
	",\"args\":{\"Total Reserved\":4194304,\"Total Allocated\":" total ",\"Bytes\":" bytes \
	",\"Device Id\":0,\"Device Type\":1,\"Addr\":" address "}}"

/* A rank of two: steps, modules, stacks, shapes, memory, a pageable copy, and communication on a stream of its own. */
extern const char traces_full[];
/* Operators without GPU work. */
extern const char traces_of_cpu[];

/* Analyses a text: {"traceEvents": [events]}, with a rank if it is not negative. Fails the test if it cannot. The
 * caller releases it with traces_free. */
struct profile_analysis *traces_read(const char *events, int rank);
struct profile_analysis *traces_read_file(const char *path);
void traces_free(struct profile_analysis *analysis);
/* A name of the trace with its kind, found among operators and the GPU's work; fails the test if it is not there. */
uint32_t traces_name(const struct profile_analysis *analysis, const char *text);

#endif
