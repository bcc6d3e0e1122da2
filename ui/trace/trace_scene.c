#include "ui/trace/trace_scene.h"

#include <stdio.h>

#include "src/trace/output/profile_view.h"

struct trace_page *trace_scene_push(struct trace_scene *scene, const char *title)
{
	if (scene->page_count == TRACE_PAGES_MAX) {
		snprintf(scene->message, sizeof scene->message, "too many pages are open: Esc closes one");
		return NULL;
	}
	struct trace_page *page = &scene->pages[scene->page_count++];
	*page = (struct trace_page){ .state.row = 0 };
	snprintf(page->title, sizeof page->title, "%s", title);
	return page;
}

const char *trace_scene_label(const struct trace_scene *scene, uint32_t name, char *out, size_t size)
{
	const struct profile_names *names = &scene->analysis->profile.names;
	out[0] = '\0';
	if (!name)
		return out;
	return profile_kind_of(name) == PROFILE_KERNEL ? profile_kernel_label(names, profile_name_of(name), out, size)
												   : profile_names_show(names, profile_name_of(name), out, size);
}

const struct profile_gpu *trace_scene_gpu(const struct trace_scene *scene)
{
	return scene->analysis->idle.gpu_count ? &scene->analysis->idle.mean : NULL;
}

void trace_scene_regroup(struct trace_scene *scene)
{
	if (scene->analysis->ops.group == scene->group)
		return;
	if (!profile_analysis_regroup(scene->analysis, scene->group))
		snprintf(scene->message, sizeof scene->message, "out of memory: the operators are incomplete");
	trace_list_forget(&scene->lists[TRACE_TAB_operators]);
	trace_list_forget(&scene->lists[TRACE_TAB_kernels]);
	trace_list_forget(&scene->lists[TRACE_TAB_modules]);
	trace_list_forget(&scene->tops[0]);
	trace_list_forget(&scene->tops[1]);
}

double trace_scene_window_s(const struct trace_scene *scene)
{
	return (double)(scene->analysis->profile.end_ns - scene->analysis->profile.start_ns) / 1e9;
}
