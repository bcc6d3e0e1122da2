#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/collect/queue.h"

static bool is_readable(const struct queue *queue)
{
	struct pollfd poller = { .fd = queue_fd(queue), .events = POLLIN };
	return poll(&poller, 1, 0) == 1;
}

static void add(struct sample_set *set, int64_t number)
{
	ck_assert_ptr_nonnull(sample_set_add(set, RECORD_MARK, 0, number));
}

START_TEST(sets_come_out_in_the_order_in_which_they_went_in)
{
	struct queue *queue = queue_new(4);
	struct sample_set in = SAMPLE_SET_INIT, out = SAMPLE_SET_INIT;
	int64_t pushed = 0, popped = 0;
	for (int turn = 0; turn < 10; turn++) {
		for (int i = 0; i < 3; i++) {
			add(&in, pushed++);
			ck_assert(queue_push(queue, &in));
			ck_assert_uint_eq(in.count, 0);
		}
		for (int i = 0; i < 3; i++) {
			ck_assert(queue_pop(queue, &out));
			ck_assert_uint_eq(out.count, 1);
			ck_assert_int_eq(out.records[0].time_ns, popped++);
		}
		ck_assert(!queue_pop(queue, &out));
		ck_assert_uint_eq(out.count, 0);
	}
	sample_set_release(&in);
	sample_set_release(&out);
	queue_free(queue);
}
END_TEST

START_TEST(full_queue_leaves_the_set_with_its_producer)
{
	struct queue *queue = queue_new(2);
	struct sample_set in = SAMPLE_SET_INIT, out = SAMPLE_SET_INIT;
	for (int i = 0; i < 2; i++) {
		add(&in, i);
		ck_assert(queue_push(queue, &in));
	}
	add(&in, 2);
	ck_assert(!queue_push(queue, &in));
	ck_assert_uint_eq(in.count, 1);
	add(&in, 3);
	ck_assert(queue_pop(queue, &out));
	ck_assert(queue_push(queue, &in));
	ck_assert(queue_pop(queue, &out));
	ck_assert(queue_pop(queue, &out));
	ck_assert_uint_eq(out.count, 2);
	ck_assert_int_eq(out.records[1].time_ns, 3);
	sample_set_release(&in);
	sample_set_release(&out);
	queue_free(queue);
}
END_TEST

START_TEST(descriptor_is_readable_while_a_set_waits)
{
	struct queue *queue = queue_new(2);
	struct sample_set in = SAMPLE_SET_INIT, out = SAMPLE_SET_INIT;
	ck_assert(!is_readable(queue));
	queue_push(queue, &in);
	queue_push(queue, &in);
	ck_assert(!queue_push(queue, &in));
	ck_assert(is_readable(queue));
	queue_pop(queue, &out);
	ck_assert(is_readable(queue));
	queue_pop(queue, &out);
	ck_assert(!is_readable(queue));
	queue_pop(queue, &out);
	ck_assert(!is_readable(queue));
	queue_free(queue);
}
END_TEST

START_TEST(storage_goes_round_and_nothing_is_allocated_on_the_way)
{
	struct queue *queue = queue_new(2);
	struct sample_set in = SAMPLE_SET_INIT, out = SAMPLE_SET_INIT;
	const struct record *storage[8];
	size_t known = 0;
	for (int i = 0; i < 100; i++) {
		add(&in, i);
		size_t at = 0;
		while (at < known && storage[at] != in.records)
			at++;
		if (at == known)
			storage[known++] = in.records;
		ck_assert_uint_le(known, 4); /* the producer's, the taker's, the queue's two */
		queue_push(queue, &in);
		queue_pop(queue, &out);
	}
	sample_set_release(&in);
	sample_set_release(&out);
	queue_free(queue);
}
END_TEST

enum { RECORDS = 200000 };

static void *produce(void *argument)
{
	struct queue *queue = argument;
	struct sample_set set = SAMPLE_SET_INIT;
	for (int64_t i = 0; i < RECORDS; i++) {
		struct record *record = sample_set_add(&set, RECORD_MARK, 0, i);
		record->text = sample_set_text(&set, "x", 1);
		queue_push(queue, &set);
	}
	while (set.count > 0)
		queue_push(queue, &set);
	sample_set_release(&set);
	return NULL;
}

START_TEST(nothing_is_lost_or_reordered_between_two_threads)
{
	struct queue *queue = queue_new(3);
	struct sample_set set = SAMPLE_SET_INIT;
	pthread_t producer;
	pthread_create(&producer, NULL, produce, queue);
	int64_t expected = 0;
	while (expected < RECORDS) {
		struct pollfd poller = { .fd = queue_fd(queue), .events = POLLIN };
		ck_assert_int_eq(poll(&poller, 1, 10000), 1);
		ck_assert(queue_pop(queue, &set));
		for (size_t i = 0; i < set.count; i++, expected++)
			if (set.records[i].time_ns != expected || set.records[i].text[0] != 'x')
				ck_abort_msg("record %lld where %lld belongs", (long long)set.records[i].time_ns, (long long)expected);
	}
	pthread_join(producer, NULL);
	ck_assert_int_eq(expected, RECORDS);
	ck_assert(!queue_pop(queue, &set));
	sample_set_release(&set);
	queue_free(queue);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("queue");
	TCase *all = tcase_create("queue");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, sets_come_out_in_the_order_in_which_they_went_in);
	tcase_add_test(all, full_queue_leaves_the_set_with_its_producer);
	tcase_add_test(all, descriptor_is_readable_while_a_set_waits);
	tcase_add_test(all, storage_goes_round_and_nothing_is_allocated_on_the_way);
	tcase_add_test(all, nothing_is_lost_or_reordered_between_two_threads);
	suite_add_tcase(suite, all);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
