/* The loss in the text behind a tqdm bar. */
#include <check.h>

#include "src/sources/python/counters/py_bar.h"
#include "tests/support/suite.h"

START_TEST(a_loss_is_found_by_its_whole_name)
{
	static const struct {
		const char *text;
		double loss;
	} texts[] = {
		{ "loss=0.25", 0.25 },
		{ "acc=0.9, loss=1.3e-05, lr=0.1", 1.3e-5 },
		{ "val_loss=9, train_loss=0.5", 0.5 },
		{ "lr: 1e-3 loss: 0.125", 0.125 },
		{ "Loss = 2", 2 },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		double loss = 0;
		ck_assert_msg(py_bar_loss_parse(texts[i].text, &loss), "%s", texts[i].text);
		ck_assert_double_eq(loss, texts[i].loss);
	}
}
END_TEST

START_TEST(another_figure_is_no_loss)
{
	static const char *const texts[] = { "", "loss", "loss=", "loss=nan", "loss=inf", "val_loss=0.5", "losses=0.5",
		"val/loss=0.5", "loss_scale=65536", "acc=0.5" };
	double loss = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_msg(!py_bar_loss_parse(texts[i], &loss), "%s", texts[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py_bar");
	TCase *tests = tcase_create("py_bar");
	tcase_add_test(tests, a_loss_is_found_by_its_whole_name);
	tcase_add_test(tests, another_figure_is_no_loss);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
