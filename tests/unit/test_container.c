#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/sources/containers/container.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"

#define ID "3f2a9c0d1e5b4a6978c0d1e2f3a4b5c6d7e8f90123456789abcdef0123456789"
#define OTHER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define UID "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"
#define UID_SYSTEMD "0b1c2d3e_4f50_6172_8394_a5b6c7d8e9f0"
#define PODS "var/log/pods"
#define BUNDLES "run/containerd/io.containerd.runtime.v2.task/k8s.io"

static struct fake_proc proc;
static struct container container;
static struct reason reason;

static void add(pid_t pid, const char *command, const char *cgroup)
{
	char path[64];
	fake_proc_add(&proc, pid, 1, command);
	snprintf(path, sizeof path, "%d/cgroup", (int)pid);
	fake_proc_put(&proc, path, cgroup);
}

static enum status find(const char *name)
{
	struct container_roots roots = { .proc = proc.root, .root = proc.root, .home = "/home/ada" };
	reason = (struct reason){ 0 };
	return container_find(&roots, name, &container, &reason);
}

static void ck_found(const char *name, size_t count, pid_t first)
{
	ck_assert_msg(find(name) == STATUS_OK, "%s: %s", name, reason.text);
	ck_assert_uint_eq(container.count, count);
	ck_assert_int_eq(container.first, first);
	ck_assert(container.is_certain);
}

static void setup(void)
{
	fake_proc_init(&proc);
	add(50, "bash", "0::/user.slice/user-1000.slice/session-2.scope\n");
}

static void teardown(void) { fake_proc_release(&proc); }

START_TEST(names_are_those_of_runtimes)
{
	ck_assert(container_is_name("docker:train"));
	ck_assert(container_is_name("podman:train"));
	ck_assert(container_is_name("pod/ml/train-0"));
	ck_assert(!container_is_name("train"));
	ck_assert(!container_is_name("4711"));
	static const char *const wrong[] = { "docker:", "docker:a/b", "docker:$(reboot)", "docker:a b", "pod/..",
		"pod/a/b/c", "pod/", "docker:x\r\nHost: y", "/etc/passwd" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(find(wrong[i]) == STATUS_INVALID, "%s", wrong[i]);
}
END_TEST

START_TEST(container_of_docker_is_found_by_its_name_in_each_form_of_cgroup)
{
	static const char *const forms[] = { "0::/system.slice/docker-" ID ".scope\n", "12:memory:/docker/" ID "\n0::/\n",
		"0::/docker/" ID "/inner\n" };
	fake_proc_put(&proc, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/train\",\"ID\":\"" ID "\"}");
	fake_proc_put(&proc, "var/lib/docker/containers/" OTHER "/config.v2.json", "{\"Name\":\"/train2\"}");
	add(60, "python", "0::/system.slice/docker-" OTHER ".scope\n");
	add(70, "python", forms[0]);
	add(71, "pt_data_worker", forms[0]);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		fake_proc_puts(&proc, 70, "cgroup", forms[i]);
		fake_proc_puts(&proc, 71, "cgroup", forms[i]);
		ck_found("docker:train", 2, 70);
	}
	ck_found("docker:train2", 1, 60);
	ck_found("docker:" ID, 2, 70);
	ck_found("docker:3f2a9c0d1e5b", 2, 70);
}
END_TEST

START_TEST(container_that_is_not_there_names_the_command)
{
	ck_assert_int_eq(find("docker:train"), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, "Docker has no container train here");
	ck_assert_str_eq(reason.remedy, "pmtop -p $(docker inspect -f '{{.State.Pid}}' train)");
	fake_proc_put(&proc, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/train\"}");
	ck_assert_int_eq(find("docker:train"), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, "train has no process that pmtop can see");
	ck_assert_int_eq(find("pod/train-0"), STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(reason.remedy, "kubectl get pod train-0 -o wide"));
}
END_TEST

START_TEST(damaged_files_of_a_runtime_are_no_containers)
{
	fake_proc_put(&proc, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/train\",");
	fake_proc_put(&proc, "var/lib/docker/containers/" OTHER "/config.v2.json", "[[\"Name\"]]");
	add(70, "python", "0::/docker/" ID "\n");
	ck_assert_int_eq(find("docker:train"), STATUS_NOT_FOUND);
	fake_proc_put(&proc, "var/lib/containers/storage/overlay-containers/containers.json", "{\"a\":1}");
	ck_assert_int_eq(find("podman:train"), STATUS_NOT_FOUND);
}
END_TEST

START_TEST(container_of_podman_is_found_with_root_and_without)
{
	fake_proc_put(&proc, "var/lib/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"" OTHER "\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[\"train\",\"alias\"]}]");
	add(70, "python", "0::/machine.slice/libpod-" ID ".scope/container\n");
	ck_found("podman:train", 1, 70);
	ck_found("podman:alias", 1, 70);
	fake_proc_put(&proc, "home/ada/.local/share/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"" OTHER "\",\"names\":[\"mine\"]}]");
	add(80, "python", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" OTHER ".scope\n");
	ck_found("podman:mine", 1, 80);
}
END_TEST

START_TEST(pod_is_found_by_the_folder_of_its_logs)
{
	fake_proc_put(&proc, PODS "/ml_train-0_" UID "/python/0.log", "");
	add(70, "pause", "0::/kubepods.slice/kubepods-pod" UID_SYSTEMD ".slice/cri-containerd-" OTHER ".scope\n");
	add(71, "python", "0::/kubepods.slice/kubepods-pod" UID_SYSTEMD ".slice/cri-containerd-" ID ".scope\n");
	add(72, "python", "0::/kubepods/burstable/pod" UID "/" ID "\n");
	ck_found("pod/train-0", 2, 71);
	ck_found("pod/ml/train-0", 2, 71);
	ck_found("ml/train-0", 2, 71);
	ck_assert_int_eq(find("pod/other/train-0"), STATUS_NOT_FOUND);
}
END_TEST

START_TEST(pod_is_found_by_the_annotations_of_containerd)
{
	fake_proc_put(&proc, BUNDLES "/" ID "/config.json",
		"{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"train-0\",\"io.kubernetes.cri.sandbox-namespace\":"
		"\"ml\"}}");
	fake_proc_put(&proc, BUNDLES "/" OTHER "/config.json",
		"{\"annotations\":{\"io.kubernetes.pod.name\":\"eval-0\",\"io.kubernetes.pod.namespace\":\"ml\"}}");
	add(70, "python", "0::/k8s.io/" ID "\n");
	add(80, "python", "0::/k8s.io/" OTHER "\n");
	ck_found("pod/train-0", 1, 70);
	ck_found("ml/eval-0", 1, 80);
}
END_TEST

START_TEST(pods_of_two_namespaces_are_not_mixed)
{
	fake_proc_put(&proc, PODS "/ml_train-0_" UID "/0.log", "");
	fake_proc_put(&proc, PODS "/dev_train-0_11111111-4f50-6172-8394-a5b6c7d8e9f0/0.log", "");
	add(70, "python", "0::/kubepods/pod" UID "/" ID "\n");
	/* The folder of a pod that has ended remains for a while. */
	ck_found("pod/train-0", 1, 70);
	add(80, "python", "0::/kubepods/pod11111111-4f50-6172-8394-a5b6c7d8e9f0/" OTHER "\n");
	ck_assert_int_eq(find("pod/train-0"), STATUS_INVALID);
	ck_assert_str_eq(reason.remedy, "pod/NAMESPACE/NAME names one of them");
	ck_found("dev/train-0", 1, 80);
}
END_TEST

START_TEST(host_name_of_a_pod_is_no_certain_answer)
{
	static const char environment[] = "A=1\0HOSTNAME=train-0\0";
	add(70, "python", "0::/kubepods/pod" UID "/" ID "\n");
	add(80, "python", "0::/user.slice\n");
	fake_proc_write(&proc, 70, "environ", environment, sizeof environment - 1);
	fake_proc_write(&proc, 80, "environ", environment, sizeof environment - 1);
	ck_assert_int_eq(find("pod/train-0"), STATUS_OK);
	ck_assert_uint_eq(container.count, 1);
	ck_assert_int_eq(container.first, 70);
	ck_assert(!container.is_certain);
	ck_assert_int_eq(find("pod/train-1"), STATUS_NOT_FOUND);
}
END_TEST

/* Answers one request with `answer`; an empty one: reads it and says nothing. */
struct daemon {
	int fd;
	const char *answer;
	char request[512];
};

static void *serve(void *argument)
{
	struct daemon *daemon = argument;
	int fd = accept(daemon->fd, NULL, NULL);
	ssize_t length = recv(fd, daemon->request, sizeof daemon->request - 1, 0);
	daemon->request[length > 0 ? length : 0] = '\0';
	send(fd, daemon->answer, strlen(daemon->answer), MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

static enum status find_with(struct daemon *daemon, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	pthread_t thread;
	fake_proc_put(&proc, "var/run/other", "");
	snprintf(address.sun_path, sizeof address.sun_path, "%s/var/run/docker.sock", proc.root);
	unlink(address.sun_path);
	daemon->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(daemon->fd, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(daemon->fd, 4), 0);
	pthread_create(&thread, NULL, serve, daemon);
	enum status status = find(name);
	pthread_join(thread, NULL);
	close(daemon->fd);
	return status;
}

START_TEST(socket_of_docker_is_asked_for_pid_and_id)
{
	struct daemon daemon = { .answer = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
									   "{\"Id\":\"" ID "\",\"State\":{\"Status\":\"running\",\"Pid\":71}}" };
	add(70, "python", "0::/docker/" ID "\n");
	add(71, "sh", "0::/docker/" ID "\n");
	ck_assert_int_eq(find_with(&daemon, "docker:train"), STATUS_OK);
	ck_assert_uint_eq(container.count, 2);
	ck_assert_int_eq(container.first, 71);
	ck_assert_str_eq(daemon.request, "GET /containers/train/json HTTP/1.0\r\nHost: localhost\r\n\r\n");
}
END_TEST

START_TEST(other_answers_of_the_socket_are_no_container)
{
	static const char *const answers[] = { "HTTP/1.0 404 Not Found\r\n\r\n{\"message\":\"No such container\"}",
		"HTTP/1.0 200 OK\r\n\r\n{\"Id\":\"short\",\"State\":{\"Pid\":70}}",
		"HTTP/1.0 200 OK\r\n\r\n{\"Id\":", "HTTP/1.0 200 OK", "", "\r\n\r\n{}", "HTTP/1.0 200 OK\r\n\r\n[]" };
	add(70, "python", "0::/\n");
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct daemon daemon = { .answer = answers[i] };
		ck_assert_msg(find_with(&daemon, "docker:train") == STATUS_NOT_FOUND, "%s", answers[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("container");
	TCase *tests = tcase_create("container");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, names_are_those_of_runtimes);
	tcase_add_test(tests, container_of_docker_is_found_by_its_name_in_each_form_of_cgroup);
	tcase_add_test(tests, container_that_is_not_there_names_the_command);
	tcase_add_test(tests, damaged_files_of_a_runtime_are_no_containers);
	tcase_add_test(tests, container_of_podman_is_found_with_root_and_without);
	tcase_add_test(tests, pod_is_found_by_the_folder_of_its_logs);
	tcase_add_test(tests, pod_is_found_by_the_annotations_of_containerd);
	tcase_add_test(tests, pods_of_two_namespaces_are_not_mixed);
	tcase_add_test(tests, host_name_of_a_pod_is_no_certain_answer);
	tcase_add_test(tests, socket_of_docker_is_asked_for_pid_and_id);
	tcase_add_test(tests, other_answers_of_the_socket_are_no_container);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
