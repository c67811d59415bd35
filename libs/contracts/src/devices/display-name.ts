/** What people call a device: 1 to 60 characters, without control characters, and with no blanks around it. */
export const DISPLAY_NAME = /^(?!\s)\P{Cc}{1,60}(?<!\s)$/u;
