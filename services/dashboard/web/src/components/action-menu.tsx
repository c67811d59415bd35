import { ActionIcon, type ActionIconProps, Menu } from '@mantine/core';
import { type ReactNode, useRef } from 'react';

interface ActionMenuProps {
  /** Of its button, for those who cannot see the icon. */
  label: string;
  icon: ReactNode;
  button: Pick<ActionIconProps, 'variant' | 'color' | 'size' | 'loading'>;
  /** Pixels. */
  width: number;
  children: ReactNode;
}

/** A button with a menu, whose items may lead to dialogs. */
export function ActionMenu({ label, icon, button, width, children }: ActionMenuProps) {
  const target = useRef<HTMLButtonElement>(null);
  return (
    <Menu
      position="bottom-end"
      width={width}
      shadow="md"
      withInitialFocusPlaceholder={false}
      // Before a dialog opens, which gives the focus back to where it was: an item of the menu is gone by then.
      onClose={() => target.current?.focus()}
    >
      <Menu.Target>
        <ActionIcon ref={target} {...button} aria-label={label}>
          {icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
