import type { DeviceView } from '@gateway/contracts/console/views';
import { Avatar, type AvatarProps } from '@mantine/core';
import { Smartphone } from 'lucide-react';
import { pictureOf } from '../../api/devices.js';

/** The picture of the account, from the console: no browser asks the network for it. What the account is called stands beside it. */
export function AccountPicture({ view, size, ...props }: { view: DeviceView; size: number } & AvatarProps) {
  return (
    <Avatar
      src={pictureOf(view) ?? null}
      alt=""
      size={size}
      radius="xl"
      color="gray"
      variant="default"
      aria-hidden
      {...props}
    >
      <Smartphone size={size / 2} strokeWidth={1.6} />
    </Avatar>
  );
}
