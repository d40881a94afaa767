"""The job control of an interactive shell: gives a program the terminal, reports when it stops, resumes it.

Started with a pseudo-terminal as standard input, output and error, and with three pipes. The first takes a line for
each report: ``started PID``, ``stopped``, ``exited STATUS``, ``killed SIGNAL``. A line on the second lets the program
go on. The third is held by the program alone, and so is closed when it has ended, even without its shell.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios


def main() -> None:
    """Run a command line in the foreground until it ends."""
    reports, orders, life = os.fdopen(int(sys.argv[1]), "w"), os.fdopen(int(sys.argv[2])), int(sys.argv[3])
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        # Tests that run in the background inherit some of them as ignored.
        for number in (signal.SIGTTOU, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
            signal.signal(number, signal.SIG_DFL)
        reports.close()
        orders.close()
        os.execvp(sys.argv[4], sys.argv[4:])
    os.close(life)

    def report(text: str) -> None:
        print(text, file=reports, flush=True)

    report(f"started {pid}")
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        report("stopped")
        if not orders.readline():
            os.killpg(pid, signal.SIGKILL)
        os.tcsetpgrp(0, pid)
        os.killpg(pid, signal.SIGCONT)
    report(f"killed {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exited {os.WEXITSTATUS(status)}")


if __name__ == "__main__":
    main()
