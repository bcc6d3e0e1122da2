#include "src/base/files/mounts.h"

#include <string.h>

/* Copies the word at *at, with octal escapes decoded, and moves *at behind it. False: none, or it does not fit. */
static bool take_word(const char **at, char *out, size_t size)
{
	const char *from = *at;
	size_t used = 0;
	while (*from && *from != ' ' && *from != '\n') {
		unsigned char byte = (unsigned char)*from++;
		if (byte == '\\' && from[0] >= '0' && from[0] <= '3' && from[1] >= '0' && from[1] <= '7' && from[2] >= '0' &&
			from[2] <= '7') {
			byte = (unsigned char)((from[0] - '0') << 6 | (from[1] - '0') << 3 | (from[2] - '0'));
			from += 3;
		}
		if (out && used + 1 >= size)
			return false;
		if (out)
			out[used] = (char)byte;
		used++;
	}
	if (out)
		out[used] = '\0';
	*at = from + strspn(from, " ");
	return used > 0;
}

bool mount_parse(const char *line, struct mount *out)
{
	/* "36 35 98:0 /root /point options [fields…] - type source super-options" */
	char word[2] = "";
	for (int i = 0; i < 3; i++)
		if (!take_word(&line, NULL, 0))
			return false;
	if (!take_word(&line, out->root, sizeof out->root) || !take_word(&line, out->point, sizeof out->point) ||
		!take_word(&line, NULL, 0))
		return false;
	while (*line && *line != '\n') {
		bool is_short = take_word(&line, word, sizeof word);
		if (is_short && strcmp(word, "-") == 0)
			break;
		if (!is_short && !take_word(&line, NULL, 0))
			return false;
	}
	if (!take_word(&line, out->type, sizeof out->type) || !take_word(&line, NULL, 0))
		return false;
	out->options[0] = '\0';
	if (!take_word(&line, out->options, sizeof out->options))
		out->options[0] = '\0';
	return out->root[0] == '/' && out->point[0] == '/';
}

bool path_is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	if (strcmp(folder, "/") == 0)
		return path[0] == '/';
	return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool mounts_find(const char *mountinfo, const char *path, struct mount *out)
{
	size_t longest = 0;
	struct mount mount;
	for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!mount_parse(line, &mount) || !path_is_below(path, mount.point) || strlen(mount.point) < longest)
			continue;
		longest = strlen(mount.point);
		*out = mount;
	}
	return longest > 0;
}

bool mount_may_hang(const struct mount *mount)
{
	/* A FUSE file system (fuse.sshfs, fuse.s3fs …) answers only while its server process runs; autofs may mount a
	 * network file system. */
	static const char *const types[] = { "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "ceph", "9p", "virtiofs",
		"afs", "coda", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "panfs", "wekafs", "glusterfs", "ocfs2", "gfs2",
		"fuse", "fuseblk", "autofs" };
	if (strncmp(mount->type, "fuse.", strlen("fuse.")) == 0)
		return true;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(mount->type, types[i]) == 0)
			return true;
	return false;
}
