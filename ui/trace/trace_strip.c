#include "ui/trace/trace_strip.h"

double trace_strip_ratio(const int64_t curve_ns[PROFILE_CURVE_SIZE], double part_ns, size_t x, size_t width)
{
	double from = (double)x * PROFILE_CURVE_SIZE / (double)width,
		   to = (double)(x + 1) * PROFILE_CURVE_SIZE / (double)width, sum = 0;
	for (size_t i = (size_t)from; i < PROFILE_CURVE_SIZE && (double)i < to; i++) {
		double low = from > (double)i ? from : (double)i, high = to < (double)(i + 1) ? to : (double)(i + 1);
		sum += (double)curve_ns[i] * (high - low);
	}
	return part_ns > 0 && to > from ? sum / part_ns / (to - from) : 0;
}

void trace_strip_draw(
	struct canvas *canvas, struct rect row, const int64_t curve_ns[PROFILE_CURVE_SIZE], double part_ns, enum role role)
{
	static const char letters[] = ".:-=+*%#";
	for (int x = 0; x < row.width && row.height > 0; x++) {
		double ratio = trace_strip_ratio(curve_ns, part_ns, (size_t)x, (size_t)row.width);
		int level = ratio >= 1 ? 7 : (int)(ratio * 8);
		if (ratio > 0)
			canvas_put(canvas, row.x + x, row.y,
				canvas->charset == CHARSET_ASCII ? (uint32_t)letters[level] : 0x2581 + (uint32_t)level, role);
	}
}
