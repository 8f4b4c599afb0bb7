/* SPDX-License-Identifier: Apache-2.0
 *
 * console_windows PROGRAM: the program in a console of Windows: text that is not ASCII, top, which
 * follows the size of the window and the keys, and Ctrl-C.
 */
#include <windows.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

enum { COLUMNS = 120, LINES = 60, NARROW = 90, WAIT_MS = 60000, STEP_MS = 20, SIZES = 20 };

static const char *program;
static HANDLE screen, keyboard;
static HANDLE running; /* the program, which must not outlive a failure: it has our output open */

static void expect(const char *what, bool ok)
{
    printf("%s %s\n", ok ? "ok   " : "FAIL ", what);
    fflush(stdout);
    if (ok)
        return;
    if (running)
        TerminateProcess(running, 1);
    exit(1);
}

/* ---- the console ---- */

/* Ctrl-C is for the program: this one goes on. */
static BOOL WINAPI stay(DWORD event)
{
    return event == CTRL_C_EVENT;
}

static void set_size(SHORT columns)
{
    SMALL_RECT least = {.Right = 10, .Bottom = 10}, window = {.Right = columns - 1, .Bottom = 30};
    SetConsoleWindowInfo(screen, TRUE, &least); /* never larger than what it shows */
    expect("a console of another size",
           SetConsoleScreenBufferSize(screen, (COORD){columns, LINES}) &&
               SetConsoleWindowInfo(screen, TRUE, &window));
}

static void open_console(void)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    FreeConsole();
    expect("a console", AllocConsole() && SetConsoleCtrlHandler(stay, TRUE));
    screen = CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE,
                         FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
    keyboard = CreateFileW(L"CONIN$", GENERIC_READ | GENERIC_WRITE,
                           FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
    expect("its screen and keyboard",
           screen != INVALID_HANDLE_VALUE && keyboard != INVALID_HANDLE_VALUE);
    set_size(COLUMNS);
}

static void clear(void)
{
    DWORD done;
    FillConsoleOutputCharacterW(screen, L' ', COLUMNS * LINES, (COORD){0}, &done);
    SetConsoleCursorPosition(screen, (COORD){0});
}

static bool shows(const WCHAR *text)
{
    static WCHAR all[COLUMNS * LINES + 1];
    DWORD done = 0;
    ReadConsoleOutputCharacterW(screen, all, COLUMNS * LINES, (COORD){0}, &done);
    all[done] = 0;
    return wcsstr(all, text);
}

static bool comes_within(const WCHAR *text, int ms)
{
    for (int waited = 0; waited < ms; waited += STEP_MS) {
        if (shows(text))
            return true;
        Sleep(STEP_MS);
    }
    return false;
}

static bool comes(const WCHAR *text)
{
    return comes_within(text, WAIT_MS);
}

/* A console changes its size in steps, and only one of them is an event: what shows a view at once
 * may see a window that is still small. */
static bool comes_at_another_size(const WCHAR *text)
{
    bool there = false;
    for (SHORT i = 0; i < SIZES && !there; i++) {
        set_size((SHORT)(NARROW + i % 2));
        there = comes_within(text, WAIT_MS / SIZES);
    }
    return there;
}

static void press(WCHAR key)
{
    DWORD done;
    INPUT_RECORD record = {
        .EventType = KEY_EVENT,
        .Event.KeyEvent = {.bKeyDown = TRUE, .wRepeatCount = 1, .uChar.UnicodeChar = key}};
    WriteConsoleInputW(keyboard, &record, 1, &done);
}

/* ---- the program ---- */

static HANDLE start(const WCHAR *arguments)
{
    WCHAR line[2048];
    STARTUPINFOW startup = {.cb = sizeof startup,
                            .dwFlags = STARTF_USESTDHANDLES,
                            .hStdInput = keyboard,
                            .hStdOutput = screen,
                            .hStdError = screen};
    PROCESS_INFORMATION process;
    clear();
    _snwprintf(line, 2048, L"\"%hs\" %ls", program, arguments);
    line[2047] = 0;
    expect("the program starts",
           CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process));
    CloseHandle(process.hThread);
    running = process.hProcess;
    return running;
}

static bool ends_with(HANDLE process, DWORD wanted)
{
    DWORD code = 0;
    bool ended = WaitForSingleObject(process, WAIT_MS) == WAIT_OBJECT_0;
    GetExitCodeProcess(process, &code);
    if (!ended)
        TerminateProcess(process, 1);
    CloseHandle(process);
    running = NULL;
    return ended && code == wanted;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    program = argv[1];
    open_console();

    HANDLE process = start(L"gr\u00f6\u00dfer\u6f22");
    expect("an unknown command is refused", ends_with(process, 2));
    expect("its name is shown as it was given", shows(L"'gr\u00f6\u00dfer\u6f22'"));

    /* the second view is in an hour, or when the size changes; its last line says which keys there
     * are */
    process = start(L"top --idle --device cpu --interval 3600");
    expect("top shows a view", comes(L"q to quit"));
    clear();
    expect("which stays", !shows(L"q to quit"));
    expect("top shows another for another size", comes_at_another_size(L"q to quit"));
    press(L'x');
    press(L'q');
    expect("q ends top", ends_with(process, 0));

    process = start(L"top --idle --device cpu");
    expect("top shows a view", comes(L"waiting"));
    expect("Ctrl-C ends top", GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) && ends_with(process, 0));

    process = start(L"serve --idle --device cpu --listen 127.0.0.1:0");
    expect("serve says where it is", comes(L"http://127.0.0.1:") && comes(L"stop with Ctrl-C"));
    expect("Ctrl-C ends serve", GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) && ends_with(process, 0));
    return 0;
}
