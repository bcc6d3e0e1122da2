#include "src/commands/trace/snapshot_inset.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/thread.h"

struct snapshot_search {
	pthread_t thread;
	pid_t pid;
	char known[4096], failed[4096]; /* paths: need not be read again */
	atomic_bool is_done;
	/* the result */
	struct snapshot_digest *digest;
	struct reason reason;
};

static void free_search(struct snapshot_search *search)
{
	free(search->digest);
	free(search);
}

static void *look(void *context)
{
	struct snapshot_search *search = context;
	char own[64], newest[4096], before[4096];
	snprintf(own, sizeof own, "/proc/%d/cwd", (int)search->pid);
	const char *const folders[] = { ".", own };
	snapshot_find_newest(folders, 2, search->pid, newest, before);
	if (newest[0] && strcmp(newest, search->known) != 0 && strcmp(newest, search->failed) != 0 &&
		snapshot_digest_read(newest, before, &search->digest, &search->reason) != STATUS_OK)
		snprintf(search->failed, sizeof search->failed, "%s", newest);
	atomic_store(&search->is_done, true);
	return NULL;
}

void snapshot_inset_search(struct snapshot_inset *inset, pid_t pid, int64_t now_ns, int64_t every_ns)
{
	if (inset->search || pid <= 0 || (inset->searched_ns && now_ns - inset->searched_ns < every_ns))
		return;
	struct snapshot_search *search = calloc(1, sizeof *search);
	inset->searched_ns = now_ns;
	if (!search)
		return;
	search->pid = pid;
	if (inset->digest)
		memcpy(search->known, inset->digest->path, sizeof search->known);
	memcpy(search->failed, inset->failed, sizeof search->failed);
	if (thread_start(&search->thread, look, search) == 0)
		inset->search = search;
	else
		free_search(search);
}

bool snapshot_inset_step(struct snapshot_inset *inset, struct reason *why_not)
{
	struct snapshot_search *search = inset->search;
	if (!search || !atomic_load(&search->is_done))
		return false;
	pthread_join(search->thread, NULL);
	bool is_new = search->digest != NULL;
	*why_not = search->reason;
	memcpy(inset->failed, search->failed, sizeof inset->failed);
	if (is_new) {
		free(inset->digest);
		inset->digest = search->digest;
		search->digest = NULL;
	}
	free_search(search);
	inset->search = NULL;
	return is_new || why_not->text[0];
}

void snapshot_inset_close(struct snapshot_inset *inset)
{
	if (inset->search && atomic_load(&inset->search->is_done)) {
		pthread_join(inset->search->thread, NULL);
		free_search(inset->search);
	}
	free(inset->digest);
	*inset = (struct snapshot_inset){ 0 };
}
