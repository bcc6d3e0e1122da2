/* NCCL's RAS service: what is asked, what is read, and which ranks are named. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/explain/ras_words.h"
#include "src/export/json/json_ras.h"
#include "src/model/collectives/ras_judge.h"
#include "src/sources/ras/ras_answer.h"
#include "src/sources/ras/ras_client.h"
#include "src/sources/ras/ras_processes.h"
#include "tests/support/model_parts.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

/* -- an answer of NCCL 2.28.9: two ranks of 192.0.2.2 and one of 192.0.2.3, which does not answer -- */

#define RANK(rank, host, pid, reduced) \
	"{ \"rank\": " rank ", \"host\": \"" host "\", \"pid\": " pid ", \"cuda_dev\": 0, \"nvml_dev\": 0,\n" \
	"\"status\": { \"init_state\": 0, \"async_error\": 0, \"finalize_called\": false, \"destroy_flag\": false,\n" \
	"\"abort_flag\": false },\n\"collective_counts\": { \"Broadcast\": 2, \"AllReduce\": " reduced \
	", \"AllToAll\": 3 } }"
#define HEAD "{ \"nccl_version\": \"2.28.9\", \"communicators_count\": 1, \"communicators\": [ { \"hash\": \"0x75e2\", "
#define TAIL "] } ], \"ras\": { \"collection_time_sec\": 0.012, \"timeouts_count\": 1 } }\n"

static const char real[] = HEAD "\"size\": 3, \"ranks\": [" RANK("0", "192.0.2.2", "440", "230") ",\n" RANK(
	"1", "192.0.2.2", "441", "231") "], \"missing_ranks\": [ { \"rank\": 2, \"host\": \"192.0.2.3\", \"pid\": 440,\n"
									"\"cuda_dev\": 0, \"nvml_dev\": 0\n \"status\": { \"unresponsive\": true, "
									"\"considered_dead\": false } } " TAIL;

static enum status read_text(const char *text, struct ras_answer *out)
{
	struct reason why;
	char *copy = strdup(text);
	enum status status = ras_answer_read(copy, strlen(copy), out, &why);
	free(copy);
	return status;
}

START_TEST(answer_is_read_although_nccl_leaves_out_a_comma)
{
	struct ras_answer answer;
	ck_assert_int_eq(read_text(real, &answer), STATUS_OK);
	ck_assert_str_eq(answer.version, "2.28.9");
	ck_assert_uint_eq(answer.timeouts, 1);
	ck_assert_uint_eq(answer.group_count, 1);
	ck_assert_uint_eq(answer.groups[0].hash, 0x75e2);
	ck_assert_uint_eq(answer.row_count, 3);
	ck_assert_uint_eq(answer.rows[1].row.counts[RAS_OP_ALL_REDUCE], 231);
	ck_assert_uint_eq(answer.rows[1].row.counts[RAS_OP_OTHER], 3);
	ck_assert_int_eq(answer.rows[2].row.state, RAS_UNRESPONSIVE);
	ck_assert_str_eq(answer.hosts[answer.rows[2].host], "192.0.2.3");
	ras_answer_release(&answer);
}
END_TEST

START_TEST(damaged_answers_are_refused)
{
	struct ras_answer answer;
	char *deep = calloc(1, 100001), *commas = calloc(1, 100001);
	memset(deep, '[', 100000);
	memset(commas, ',', 100000);
	for (size_t length = 0; length < sizeof real - 2; length += 7) {
		char *cut = strndup(real, length);
		ck_assert_msg(read_text(cut, &answer) != STATUS_OK, "cut off after %zu bytes", length);
		free(cut);
	}
	ck_assert_int_eq(read_text(deep, &answer), STATUS_DAMAGED);
	ck_assert_int_eq(read_text(commas, &answer), STATUS_DAMAGED);
	ck_assert_int_eq(read_text("{}", &answer), STATUS_DAMAGED);
	ck_assert_int_eq(
		read_text(HEAD "\"size\": 1, \"ranks\": [" RANK("1", "h", "1", "1") TAIL, &answer), STATUS_DAMAGED);
	free(deep);
	free(commas);
}
END_TEST

START_TEST(own_ranks_are_found_by_their_pids)
{
	struct ras_answer answer;
	const struct ras_process inside[] = { { 9440, 440 }, { 9441, 441 } }, other[] = { { 7, 7 } };
	ck_assert_int_eq(read_text(real, &answer), STATUS_OK);
	ck_assert(!ras_answer_join(&answer, other, 1));
	ck_assert(ras_answer_join(&answer, inside, 2));
	ck_assert_str_eq(answer.hosts[answer.own_host], "192.0.2.2");
	ck_assert_int_eq(answer.rows[0].row.pid, 9440);
	ck_assert_int_eq(answer.rows[2].row.pid, 440); /* of another host */
	ras_answer_release(&answer);
}
END_TEST

/* -- the conversation -- */

static const char *const talk_ok[] = { "SERVER PROTOCOL 2\n", "OK\n", "OK\n", "{}\n", NULL },
						 *const talk_old[] = { "SERVER PROTOCOL 2\n", "ERROR: Unknown command SET FORMAT json\n",
							 NULL },
						 *const talk_http[] = { "HTTP/1.1 400 Bad Request\r\n", NULL },
						 *const talk_cut[] = { "SERVER PROTOCOL 2\n", "OK\n", NULL };

struct server {
	int fd;
	const char *const *lines; /* an answer to each line; NULL: answers nothing, and waits for the end */
	pthread_t thread;
};

static void *serve(void *argument)
{
	struct server *server = argument;
	char byte;
	int client = accept(server->fd, NULL, NULL);
	for (size_t i = 0; server->lines && server->lines[i]; i++) {
		while (read(client, &byte, 1) == 1 && byte != '\n')
			;
		ck_assert_int_gt(write(client, server->lines[i], strlen(server->lines[i])), 0);
	}
	while (!server->lines && read(client, &byte, 1) == 1)
		;
	shutdown(client, SHUT_WR);
	while (read(client, &byte, 1) == 1)
		;
	close(client);
	return NULL;
}

static enum status ask(const char *const *lines, int64_t limit_ns, struct buffer *answer, struct reason *why)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof in;
	struct server server = { .fd = socket(AF_INET, SOCK_STREAM, 0), .lines = lines };
	struct ras_addresses addresses;
	char text[64];
	ck_assert_int_eq(bind(server.fd, (struct sockaddr *)&in, sizeof in), 0);
	ck_assert_int_eq(listen(server.fd, 1), 0);
	ck_assert_int_eq(getsockname(server.fd, (struct sockaddr *)&in, &length), 0);
	snprintf(text, sizeof text, "localhost:%d", ntohs(in.sin_port));
	ck_assert(ras_addresses_parse(text, &addresses));
	pthread_create(&server.thread, NULL, serve, &server);
	struct ras_question question = { &addresses, -1, eventfd(0, 0), limit_ns };
	enum status status = ras_ask(&question, answer, why);
	pthread_join(server.thread, NULL);
	close(server.fd);
	close(question.wake_fd);
	return status;
}

START_TEST(service_is_asked_and_its_faults_are_named)
{
	struct buffer answer = BUFFER_INIT;
	struct reason why;
	ck_assert_int_eq(ask(talk_ok, 10 * NS_PER_S, &answer, &why), STATUS_OK);
	ck_assert_str_eq(answer.data, "{}\n");
	ck_assert_int_eq(ask(talk_old, 10 * NS_PER_S, &answer, &why), STATUS_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(why.text, "has no JSON: NCCL is older than 2.28.7"));
	ck_assert_int_eq(ask(talk_http, 10 * NS_PER_S, &answer, &why), STATUS_DAMAGED);
	ck_assert_ptr_nonnull(strstr(why.text, "is not NCCL's RAS"));
	ck_assert_int_eq(ask(talk_cut, 10 * NS_PER_S, &answer, &why), STATUS_DAMAGED);
	ck_assert_int_eq(ask(NULL, 50 * NS_PER_MS, &answer, &why), STATUS_AGAIN);
	ck_assert_ptr_nonnull(strstr(why.text, "no answer in 0.05 s"));
	buffer_release(&answer);
}
END_TEST

START_TEST(nothing_that_listens_and_other_machines_are_distinguished)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof in;
	struct ras_addresses addresses;
	struct buffer answer = BUFFER_INIT;
	struct reason why;
	char text[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0); /* bound, but it does not listen: nobody else can have the port */
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	getsockname(fd, (struct sockaddr *)&in, &length);
	snprintf(text, sizeof text, "127.0.0.1:%d", ntohs(in.sin_port));
	ck_assert(ras_addresses_parse(text, &addresses));
	struct ras_question question = { &addresses, -1, eventfd(0, 0), 10 * NS_PER_S };
	ck_assert_int_eq(ras_ask(&question, &answer, &why), STATUS_NOT_FOUND);
	ck_assert(ras_addresses_parse("192.0.2.77:28028", &addresses));
	ck_assert_int_eq(ras_ask(&question, &answer, &why), STATUS_INVALID);
	ck_assert_str_eq(why.text, "NCCL_RAS_ADDR: 192.0.2.77:28028 is no address of this machine");
	close(fd);
	close(question.wake_fd);
	buffer_release(&answer);
}
END_TEST

START_TEST(addresses_are_parsed)
{
	static const char *const bad[] = { "localhost", "localhost:", "localhost:0", "localhost:65536", "example.org:28028",
		"127.0.0.1:12x", ":1", "[]:1", "[::1:1" };
	struct ras_addresses addresses;
	ck_assert(ras_addresses_parse(NULL, &addresses) && addresses.count == 2);
	ck_assert_str_eq(addresses.text, "localhost:28028");
	ck_assert(ras_addresses_parse("10.0.0.7:5000", &addresses) && addresses.count == 1);
	ck_assert(ras_addresses_parse("[::1]:5000", &addresses) && addresses.list[0].address.ss_family == AF_INET6);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!ras_addresses_parse(bad[i], &addresses), "%s", bad[i]);
}
END_TEST

/* A program that imports torch late would else be searched again only after a minute. */
START_TEST(library_that_is_loaded_late_is_found_at_once)
{
	enum { SIZE = 32 << 20 };
	char folder[] = "/tmp/pmtop-ras-XXXXXX", path[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/libnccl.so.2", folder);
	struct ras_candidate candidate = { .fd = open("/proc/self", O_RDONLY | O_DIRECTORY) };
	ck_assert(!ras_candidate_search(&candidate, NS_PER_S));
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	void *small = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(!ras_candidate_search(&candidate, 2 * NS_PER_S));
	void *library = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(ras_candidate_search(&candidate, 3 * NS_PER_S));
	munmap(small, 4096);
	munmap(library, SIZE);
	close(fd);
	close(candidate.fd);
	unlink(path);
	rmdir(folder);
}
END_TEST

/* -- the model -- */

enum { RANKS = 4 };
static struct model *model;
static struct sample_set set;
static struct alerts alerts;
static struct settings settings;
static char words[COLLECTIVE_WORDS_SIZE];

static void open_model(void)
{
	model = model_new_default();
	set = (struct sample_set)SAMPLE_SET_INIT;
}

static void close_model(void)
{
	sample_set_release(&set);
	model_free(model);
}

static struct ras_row *begin_answer(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = 5000 * NS_PER_S + (int64_t)(at_s * (double)NS_PER_S);
	struct record *record = sample_set_add(&set, RECORD_RAS, 0, set.time_ns);
	record->ras.pid = 440;
	record->ras.version = "2.28.9";
	record->ras.host = "192.0.2.2";
	return sample_set_allocate(&set, 2 * RANKS * sizeof(struct ras_row));
}

/* A communicator of ranks 0 … count − 1, two a host, that have launched `counts`. */
static void add_group(uint64_t hash, struct ras_row *rows, const uint64_t *counts, size_t count)
{
	struct record *record = sample_set_add(&set, RECORD_RAS_GROUP, 0, set.time_ns);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct ras_row){ .rank = (int32_t)i,
			.pid = 440 + (int32_t)i,
			.gpu = (int32_t)i % 2,
			.host = i < 2 ? "192.0.2.2" : "192.0.2.3" };
		rows[i].counts[RAS_OP_ALL_REDUCE] = counts[i];
	}
	record->ras_group.hash = hash;
	record->ras_group.size = (uint32_t)count;
	record->ras_group.rows = rows;
	record->ras_group.count = count;
}

static void answer(double at_s, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct ras_row *rows = begin_answer(at_s);
	add_group(1, rows, (const uint64_t[]){ a, b, c, d }, RANKS);
	model_apply(model, &set);
}

static void answer_without(double at_s, size_t rank, enum ras_state state)
{
	struct ras_row *rows = begin_answer(at_s);
	add_group(1, rows, (const uint64_t[]){ 5, 5, 5, 5 }, RANKS);
	rows[rank].state = state;
	model_apply(model, &set);
}

static const char *now(void)
{
	struct ras_judgement judgement;
	ras_judge(model, &judgement);
	if (!judgement.is_due)
		return "";
	return ras_words(model, &judgement, words);
}

START_TEST(dead_rank_is_named_at_once_and_one_that_does_not_answer_after_two_answers)
{
	answer_without(0, 2, RAS_UNRESPONSIVE);
	ck_assert_str_eq(now(), "");
	answer_without(5, 2, RAS_UNRESPONSIVE);
	ck_assert_str_eq(now(), "rank 2 on 192.0.2.3 does not answer NCCL's RAS");
	answer_without(10, 3, RAS_DEAD);
	ck_assert_str_eq(now(), "rank 3 on 192.0.2.3 is dead, as NCCL sees it");
	ck_assert_str_eq(collective_words_now(model, words), "rank 3 on 192.0.2.3 is dead, as NCCL sees it");
	answer(15, 5, 5, 5, 5);
	ck_assert_str_eq(now(), "");
}
END_TEST

START_TEST(ranks_behind_are_named_once_nothing_moves)
{
	for (unsigned i = 0; i < 10; i++)
		answer(5 * i, 100 + 10 * i, 100 + 10 * i, 100 + 10 * i, 99 + 10 * i); /* moving: normal */
	ck_assert_str_eq(now(), "");
	answer(60, 231, 230, 230, 230); /* those behind are named, although they are more */
	for (unsigned at = 65; at < 90; at += 5)
		answer(at, 231, 230, 230, 230);
	ck_assert_str_eq(now(), "");
	answer(90, 231, 230, 230, 230);
	ck_assert_str_eq(now(), "ranks 1, 2, 3 have launched 230 AllReduce, others 231; no rank has moved for 30.0 s");
	answer(95, 231, 231, 231, 231);
	ck_assert_str_eq(now(), "");
	/* It has stood still for 35 s before: that is this job's way. */
	answer(100, 241, 241, 241, 240);
	answer(140, 241, 241, 241, 240);
	ck_assert_str_eq(now(), "");
	answer(155, 241, 241, 241, 240);
	ck_assert_str_eq(now(), "rank 3 on 192.0.2.3 has launched 240 AllReduce, others 241; no rank has moved for 55.0 s");
}
END_TEST

START_TEST(first_collectives_wait_for_compilations)
{
	for (unsigned at = 0; at <= 60; at += 5) {
		ck_assert_str_eq(now(), "");
		answer(at, 3, 3, 3, 2);
	}
	ck_assert_str_eq(now(), "rank 3 on 192.0.2.3 has launched 2 AllReduce, others 3; no rank has moved for 1:00");
}
END_TEST

/* Rank 1 is process 441 of this machine: in torch.save for most of the time. */
START_TEST(rank_that_writes_a_checkpoint_is_given_ten_minutes)
{
	struct record *record = (begin_answer(0), sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns));
	record->code_group.id = 1;
	record->code_group.pid = 441;
	record->code_group.python = "3.12.4";
	record = sample_set_add(&set, RECORD_CODE, 0, set.time_ns);
	record->code.id = 1;
	record->code.function = "save";
	record->code.file = "/usr/lib/python3/site-packages/torch/serialization.py";
	record = sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns);
	record->code_node.id = record->code_node.group = record->code_node.code = 1;
	record->code_node.line = 600;
	model_apply(model, &set);
	for (unsigned at = 5; at <= 600; at += 5) {
		sample_set_clear(&set);
		struct ras_row *rows = begin_answer(at);
		add_group(1, rows, (const uint64_t[]){ 231, 230, 231, 231 }, RANKS);
		record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, set.time_ns);
		record->code_samples.node = 1;
		record->code_samples.count = 50;
		record->code_samples.begin_ns = set.time_ns - 5 * NS_PER_S;
		model_apply(model, &set);
		ck_assert_str_eq(now(), "");
	}
}
END_TEST

START_TEST(rank_that_waits_elsewhere_is_not_blamed)
{
	static const uint64_t world[] = { 231, 231, 230, 230 }, pair[] = { 70, 70, 80, 70 };
	for (unsigned at = 0; at <= 40; at += 5) {
		struct ras_row *rows = begin_answer(at);
		add_group(1, rows, world, RANKS);
		add_group(2, rows + RANKS, pair, RANKS);
		/* Group 2 is of ranks 2 and 3 alone. */
		set.records[2].ras_group.rows = rows + RANKS + 2;
		set.records[2].ras_group.count = set.records[2].ras_group.size = 2;
		model_apply(model, &set);
	}
	ck_assert_str_eq(now(), "rank 3 on 192.0.2.3 has launched 70 AllReduce, others 80; no rank has moved for 40.0 s");
	struct buffer text = { 0 };
	struct json json = { .out = &text };
	json_open_object(&json, NULL);
	json_ras(&json, model);
	json_close_object(&json);
	/* A process's collectives are those of all its communicators. */
	ck_assert_ptr_nonnull(strstr(text.data, "\"pid\":441,\"state\":\"running\",\"launched\":231"));
	ck_assert_ptr_nonnull(strstr(text.data, "\"pid\":442,\"state\":\"running\",\"launched\":310"));
	buffer_release(&text);
}
END_TEST

START_TEST(repeated_answer_is_not_a_second_one)
{
	answer_without(0, 2, RAS_UNRESPONSIVE);
	model_apply(model, &set);
	ck_assert_uint_eq(model->ras->answers, 1);
	ck_assert_str_eq(now(), "");
}
END_TEST

START_TEST(old_answer_is_not_judged)
{
	answer_without(0, 3, RAS_DEAD);
	ck_assert_str_ne(now(), "");
	sample_set_clear(&set);
	set.time_ns = 5061 * NS_PER_S;
	model_apply(model, &set);
	ck_assert_str_eq(now(), "");
}
END_TEST

START_TEST(communicator_that_is_gone_is_forgotten)
{
	answer(0, 1, 1, 1, 1);
	begin_answer(5);
	model_apply(model, &set);
	ck_assert_int_eq(ras_world(model->ras), -1);
}
END_TEST

START_TEST(rules_name_the_dead_rank_with_advice_for_its_host)
{
	settings_default(&settings);
	answer_without(0, 3, RAS_DEAD);
	alerts_update(&alerts, model, &settings);
	const struct alert *alert = alerts_find_raised(&alerts, "rank_dead");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "rank 3 on 192.0.2.3 is dead, as NCCL sees it");
	alerts_release(&alerts);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ras");
	TCase *reading = tcase_create("reading"), *judging = tcase_create("judging");
	tcase_add_test(reading, answer_is_read_although_nccl_leaves_out_a_comma);
	tcase_add_test(reading, damaged_answers_are_refused);
	tcase_add_test(reading, own_ranks_are_found_by_their_pids);
	tcase_add_test(reading, service_is_asked_and_its_faults_are_named);
	tcase_add_test(reading, nothing_that_listens_and_other_machines_are_distinguished);
	tcase_add_test(reading, addresses_are_parsed);
	tcase_add_test(reading, library_that_is_loaded_late_is_found_at_once);
	tcase_add_checked_fixture(judging, open_model, close_model);
	tcase_add_test(judging, dead_rank_is_named_at_once_and_one_that_does_not_answer_after_two_answers);
	tcase_add_test(judging, ranks_behind_are_named_once_nothing_moves);
	tcase_add_test(judging, first_collectives_wait_for_compilations);
	tcase_add_test(judging, rank_that_writes_a_checkpoint_is_given_ten_minutes);
	tcase_add_test(judging, rank_that_waits_elsewhere_is_not_blamed);
	tcase_add_test(judging, repeated_answer_is_not_a_second_one);
	tcase_add_test(judging, old_answer_is_not_judged);
	tcase_add_test(judging, communicator_that_is_gone_is_forgotten);
	tcase_add_test(judging, rules_name_the_dead_rank_with_advice_for_its_host);
	suite_add_tcase(suite, reading);
	suite_add_tcase(suite, judging);
	return suite_run(suite);
}
