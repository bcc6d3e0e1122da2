/* picture.h: compares a whole canvas with text written in the test. */
#ifndef PMTOP_TESTS_SUPPORT_PICTURE_H
#define PMTOP_TESTS_SUPPORT_PICTURE_H

#include "ui/core/canvas.h"

/* Rows separated by newlines, each ending with "|" so that blanks can be seen. Fails the test with both pictures. */
void picture_expect(const struct canvas *canvas, const char *expected);
/* A canvas of this size; release it with canvas_release. */
struct canvas picture_canvas(int width, int height, enum charset charset);

#endif
