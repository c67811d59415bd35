import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { Eye, EyeOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';

/** A field for a password, which can be shown: with the keyboard, too. */
export function PasswordField(props: PasswordInputProps) {
  const { t } = useTranslation();
  return (
    <PasswordInput
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
      visibilityToggleIcon={({ reveal }) => (reveal ? <EyeOff size={16} /> : <Eye size={16} />)}
      {...props}
    />
  );
}
