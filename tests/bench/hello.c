/* hello: the least that a program on ncurses does before its first frame stands; the anchor for pmtop's. */
#include <curses.h>
#include <unistd.h>

int main(void)
{
	initscr();
	mvaddstr(0, 0, "hello");
	refresh();
	pause();
}
