#include "src/explain/causes/line_advice.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char on_sleep[] = "remove this sleep, or wait for an event instead",
				  on_child[] = "start this process without waiting for it, or between epochs",
				  on_gc[] = "call it between epochs only, or gc.freeze() after the warm-up",
				  on_import[] = "move this import to the top of the file",
				  on_save[] = "save less often, or copy the state and write it from another thread",
				  on_network[] = "send it from another thread, or less often: the other side answers late",
				  on_lock[] = "find the thread that holds this lock: pmtop stack PID",
				  on_object[] = "if this is a lock, find the thread that holds it: pmtop stack PID",
				  on_queue[] = "find the thread at the other end of this queue: pmtop stack PID",
				  on_gpu[] = "call it less often: on a GPU it waits for all launched work",
				  on_file[] = "read the file before training, or in the DataLoader's workers",
				  on_log[] = "write less often: what reads this output is slow";

/* The first that occurs counts. A word that begins with a letter must not continue a longer one. */
static const struct {
	const char *word, *advice;
} rows[] = { { "time.sleep(", on_sleep }, { "sleep(", on_sleep }, { "subprocess.", on_child },
	{ "os.system(", on_child }, { ".communicate(", on_child }, { "gc.collect(", on_gc }, { "import ", on_import },
	{ "import_module(", on_import }, { "torch.save(", on_save }, { "save_checkpoint(", on_save },
	{ "save_pretrained(", on_save }, { ".item()", on_gpu }, { ".cpu()", on_gpu }, { ".tolist()", on_gpu },
	{ ".synchronize(", on_gpu }, { "requests.", on_network }, { "urlopen(", on_network }, { "urllib.", on_network },
	{ "socket.", on_network }, { ".recv(", on_network }, { ".connect(", on_network }, { "getaddrinfo(", on_network },
	{ "acquire(", on_lock }, { "lock", on_lock }, { "_lock", on_lock }, { "mutex", on_lock }, { "queue.", on_queue },
	{ "open(", on_file }, { ".read(", on_file }, { "os.read(", on_file }, { "np.load(", on_file },
	{ "torch.load(", on_file }, { "print(", on_log }, { "logging.", on_log }, { "logger.", on_log },
	{ "log.", on_log } };

static bool has_word(const char *text, const char *word)
{
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if (at == text || !isalnum((unsigned char)word[0]) || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'))
			return true;
	return false;
}

/* "with self.lk:": an object that is entered again and again is mostly a lock. */
static bool enters_object(const char *text)
{
	if (strncmp(text, "with ", 5) != 0)
		return false;
	for (text += 5; isalnum((unsigned char)*text) || *text == '_' || *text == '.';)
		text++;
	return *text == ':';
}

const char *line_advice(const char *text)
{
	for (size_t i = 0; text && i < sizeof rows / sizeof *rows; i++)
		if (has_word(text, rows[i].word))
			return rows[i].advice;
	return text && enters_object(text) ? on_object : NULL;
}
