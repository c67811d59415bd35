import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/**
 * Moves the focus to the heading of a page that was gone to, as a browser does with a new document: who hears the page begins to hear
 * it there, and the keyboard goes on from there. Not for the first page, and not when only what is behind the `?` changes.
 */
export function useFocusOnHeading(): void {
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const former = useRef(shown);
  useEffect(() => {
    const came = former.current !== undefined && former.current !== shown;
    former.current = shown;
    if (!came) return;
    const focus = () => document.querySelector<HTMLElement>('#page h1')?.focus({ preventScroll: true });
    focus();
    // A dialog that led here gives the focus back to its opener when it is gone.
    const dialog = document.querySelector('[role=dialog]');
    if (!dialog) return;
    const observer = new MutationObserver(() => {
      if (dialog.isConnected) return;
      observer.disconnect();
      requestAnimationFrame(focus);
    });
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [shown]);
}
