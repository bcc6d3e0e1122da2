#include "src/sources/inferred/job/stacks_job.h"

#include <stdio.h>
#include <string.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/sources/proc/environment.h"

/* The first variable of a kind that is set counts: those that frameworks read come before the launchers' own. */
enum name {
	RANK_FIRST,
	LOCAL_RANK_FIRST = RANK_FIRST + 4,
	WORLD_SIZE_FIRST = LOCAL_RANK_FIRST + 3,
	DEVICES_FIRST = WORLD_SIZE_FIRST + 3,
	ELASTIC_ID = DEVICES_FIRST + 4,
	ADDRESS,
	PORT,
	SLURM_JOB,
	SLURM_STEP,
	NAMESPACE,
	NODE_RANK,
	NAMES,
	SLURM_TASKS = WORLD_SIZE_FIRST + 1,
	OPEN_MPI_RANK = RANK_FIRST + 2
};

static const char *const names[NAMES] = { "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "LOCAL_RANK",
	"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
	"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "TORCHELASTIC_RUN_ID",
	"MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "NODE_RANK" };

/* The first that is set from `first` to before `end`; NULL = none. */
static const struct variable *first_set(const struct variable *variables, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (variables[i].value[0])
			return &variables[i];
	return NULL;
}

static void copy_number(const struct variable *variables, size_t first, size_t end, char out[STACKS_JOB_RANK_SIZE])
{
	const struct variable *variable = first_set(variables, first, end);
	if (variable && text_count(variable->value) >= 0 && strlen(variable->value) < STACKS_JOB_RANK_SIZE)
		strcpy(out, variable->value);
}

static void add_part(char id[STACKS_JOB_ID_SIZE], const char *part)
{
	size_t length = strlen(id);
	snprintf(id + length, STACKS_JOB_ID_SIZE - length, "%s%s", length ? " " : "", part);
}

/* "localhost" differs between network namespaces, so the namespace is added: two containers may use the same. */
static void add_address(const char *address, const char *port, const char *network, char id[STACKS_JOB_ID_SIZE])
{
	bool is_local =
		strcmp(address, "localhost") == 0 || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
	char part[2 * ENVIRONMENT_VALUE_SIZE + 64];
	snprintf(
		part, sizeof part, "%s%s%s:%s", address, is_local && *network ? " net " : "", is_local ? network : "", port);
	add_part(id, part);
}

static void write_run_id(const struct variable *variables, const char *network, char id[STACKS_JOB_ID_SIZE])
{
	const char *elastic = variables[ELASTIC_ID].value, *tasks = variables[SLURM_TASKS].value;
	bool is_several = (*tasks && strcmp(tasks, "1") != 0) || variables[WORLD_SIZE_FIRST].is_set;
	if (*elastic && strcmp(elastic, "none") != 0)
		add_part(id, elastic);
	if (variables[ADDRESS].value[0] && variables[PORT].value[0])
		add_address(variables[ADDRESS].value, variables[PORT].value, network, id);
	if (variables[SLURM_JOB].value[0] && is_several) {
		char part[2 * ENVIRONMENT_VALUE_SIZE + 64];
		snprintf(part, sizeof part, "slurm %s%s%s", variables[SLURM_JOB].value,
			variables[SLURM_STEP].value[0] ? "." : "", variables[SLURM_STEP].value);
		add_part(id, part);
	} else if (variables[OPEN_MPI_RANK].value[0] && variables[NAMESPACE].value[0]) {
		add_part(id, variables[NAMESPACE].value);
	}
}

/* As many names of the list as fit: a name that is cut could be another's. */
static void copy_devices(const struct variable *variables, struct stacks_job *out)
{
	const struct variable *variable = first_set(variables, DEVICES_FIRST, ELASTIC_ID);
	if (!variable)
		return;
	out->devices_key = variable->name;
	snprintf(out->devices, sizeof out->devices, "%.*s", (int)sizeof out->devices - 1, variable->value);
	if (strlen(variable->value) < sizeof out->devices)
		return;
	char *comma = strrchr(out->devices, ',');
	*(comma ? comma : out->devices) = '\0';
	out->devices_key = comma ? out->devices_key : NULL;
}

static void fill(const struct variable *variables, const char *network, struct stacks_job *out)
{
	*out = (struct stacks_job){ .rank = "" };
	copy_number(variables, RANK_FIRST, LOCAL_RANK_FIRST, out->rank);
	copy_number(variables, LOCAL_RANK_FIRST, WORLD_SIZE_FIRST, out->local_rank);
	copy_number(variables, WORLD_SIZE_FIRST, DEVICES_FIRST, out->world_size);
	if (!out->rank[0] && strcmp(variables[NODE_RANK].value, "0") == 0) {
		strcpy(out->rank, out->local_rank);
		out->is_led = text_count(out->rank) > 0;
	}
	write_run_id(variables, network, out->run_id);
	copy_devices(variables, out);
	if (stacks_job_is_rank(out))
		return;
	*out = (struct stacks_job){ .rank = "" };
}

static void set_names(struct variable variables[NAMES])
{
	for (size_t i = 0; i < NAMES; i++)
		variables[i].name = names[i];
}

void stacks_job_parse(const char *text, size_t length, const char *network, struct stacks_job *out)
{
	struct variable variables[NAMES];
	set_names(variables);
	environment_parse(text, length, variables, NAMES);
	fill(variables, network, out);
}

void stacks_job_read(int directory_fd, struct stacks_job *out)
{
	struct variable variables[NAMES];
	char link[64] = "", network[32] = "";
	set_names(variables);
	environment_read(directory_fd, variables, NAMES);
	if (file_link(directory_fd, "ns/net", link, sizeof link) > 0)
		sscanf(link, "net:[%31[0-9]]", network);
	fill(variables, network, out);
}

void stacks_job_spawned(pid_t parent, unsigned rank, unsigned size, struct stacks_job *out)
{
	*out = (struct stacks_job){ .certain = "yes" };
	snprintf(out->rank, sizeof out->rank, "%u", rank);
	snprintf(out->world_size, sizeof out->world_size, "%u", size);
	snprintf(out->run_id, sizeof out->run_id, "spawned by process %d", (int)parent);
}

void stacks_job_of_leader(const struct stacks_job *led, struct stacks_job *out)
{
	*out = *led;
	strcpy(out->rank, "0");
	strcpy(out->local_rank, "0");
	out->is_led = false;
	out->devices_key = NULL;
	out->devices[0] = '\0';
}

bool stacks_job_is_rank(const struct stacks_job *job) { return job->rank[0] && text_count(job->world_size) > 1; }

bool stacks_job_is_same(const struct stacks_job *a, const struct stacks_job *b)
{
	return stacks_job_is_rank(a) && stacks_job_is_rank(b) && strcmp(a->run_id, b->run_id) == 0 &&
		strcmp(a->world_size, b->world_size) == 0;
}

bool stacks_job_is_equal(const struct stacks_job *a, const struct stacks_job *b)
{
	return strcmp(a->rank, b->rank) == 0 && strcmp(a->local_rank, b->local_rank) == 0 &&
		strcmp(a->world_size, b->world_size) == 0 && strcmp(a->run_id, b->run_id) == 0 && a->certain == b->certain &&
		a->apart == b->apart && a->devices_key == b->devices_key && strcmp(a->devices, b->devices) == 0;
}

bool stacks_job_meta(const struct stacks_job *job, size_t at, const char **key, const char **value)
{
	const char *const rows[STACKS_JOB_KEYS][2] = { { "RANK", job->rank }, { "LOCAL_RANK", job->local_rank },
		{ "WORLD_SIZE", job->world_size }, { "run_id", job->run_id },
		{ "rank.certain", job->certain ? job->certain : "" }, { "rank.apart", job->apart ? job->apart : "" },
		{ job->devices_key, job->devices } };
	*key = rows[at][0];
	*value = rows[at][1];
	return *key && **value;
}
